import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { Counter, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import { toPrintableLine } from '../common/printable-text.ts';
import { RateLimiter } from '../common/rate-limiter.ts';
import { ThrottledLog } from '../common/throttled-log.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { AnsweredCall, JudgedReview } from './review.ts';
import type { RecordedReferrer } from './verdict.ts';

export interface AnswerRecorderOptions {
  readonly log: Logger;
  readonly events: Pick<EventRecorder, 'record'>;
  /** The recorder adds its metrics to it. */
  readonly registry: Registry<OpenMetricsContentType>;
  /** By the clock of the API server, because replicas compare what they have answered. */
  readonly now: () => Date;
}

/** A deletion that the guard has allowed, or denied. */
export interface RecordedDeletion {
  readonly time: Date;
  readonly user: string;
  /** Of the annotation that allowed it. Printable. */
  readonly reason?: string;
}

export interface RecordedDenial extends RecordedDeletion {
  readonly name: string;
  readonly referrers: readonly RecordedReferrer[];
}

/** A cluster has fewer rendered configs, so a deletion of all of them is logged completely. */
const LOGGED_BURST = 5_000;
/** Then a client that repeats reviews writes 12 kB of log in a second. */
const LOG_INTERVAL_MS = 50;
/** Of these, a few are of interest: those whose config a node names. */
export const MAX_DELETIONS = 50;

/** These series start with 0, because `increase()` misses the first increment of a new series. */
const COUNTED_CODES = { MCG_IN_USE: 'denied', MCG_HELD: 'denied', MCG_UNVERIFIED: 'denied', MCG_NOT_IN_USE: 'allowed' };
/** From a denial by the index to the timeout of the webhook. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Records what the guard has answered. A metric counts every answer. Any client can send malformed reviews and
 * reviews of configs that do not exist, so they share few log lines. The log has all other answers, up to a limit for
 * each address. Within it, an answer about an existing config becomes a part of the status, and a denial or an
 * override also an Event, unless it is a dry run.
 */
export class AnswerRecorder {
  /** The last denial, and the deletions that were allowed, by config. The status writer removes them. */
  lastDenial: RecordedDenial | undefined;
  readonly deletions = new LRUCache<string, RecordedDeletion>({ max: MAX_DELETIONS });
  readonly #options: AnswerRecorderOptions;
  readonly #metrics: AnswerMetrics;
  /** Overrides have their own limits, so that a flood of other reviews hides none. */
  readonly #limits = { overrides: createLimits(), others: createLimits() };
  readonly #throttledLog: ThrottledLog;

  constructor(options: AnswerRecorderOptions) {
    this.#options = options;
    this.#metrics = createMetrics(options.registry);
    this.#throttledLog = new ThrottledLog(options.log);
  }

  record(judged: JudgedReview, call: AnsweredCall): void {
    const { review, verdict, configState } = judged;
    const { code, config: name = '', message } = verdict;
    this.#count(judged, call);
    if (configState === 'missing') {
      this.#throttledLog.warn('answered a review of an unknown config', { name, user: review.user, code });
    } else if (code === 'MCG_BAD_REVIEW') {
      this.#throttledLog.warn('received a malformed review', { problem: toPrintableLine(message, 500) });
    } else if (this.#isWithinLimits(judged, call)) {
      this.#log(judged, call);
      if (configState === 'exists' && !review.isDryRun) this.#announce(judged);
    } else {
      this.#throttledLog.warn('a client sends too many reviews; not logging all', { address: call.address });
    }
  }

  #count({ review, verdict, path, configState }: JudgedReview, { hasAuthorization, ms }: AnsweredCall): void {
    const { calls, decisions, duration, missingConfigs } = this.#metrics;
    calls.inc({ authorization: String(hasAuthorization) });
    if (configState === 'missing') {
      missingConfigs.inc();
      return;
    }
    decisions.inc({ verdict: verdict.outcome, code: verdict.code, dry_run: String(review.isDryRun) });
    duration.observe({ path }, ms / 1000);
  }

  #isWithinLimits({ verdict }: JudgedReview, { address }: AnsweredCall): boolean {
    const { byAddress, total } = verdict.outcome === 'overridden' ? this.#limits.overrides : this.#limits.others;
    return byAddress.tryAcquire(address) && total.tryAcquire();
  }

  /** Logs selected fields: never a header, a token or the body of an object. */
  #log({ review, verdict, path }: JudgedReview, { ms }: AnsweredCall): void {
    const { outcome, code, cause, message, referencesTotal, overrideReason } = verdict;
    const fields = {
      uid: toPrintableLine(review.uid, 64),
      name: toPrintableLine(verdict.config ?? '', 253),
      user: review.user,
      dryRun: review.isDryRun,
      verdict: outcome,
      code,
      cause,
      referrers: verdict.references,
      referrersTotal: referencesTotal,
      overrideReason,
      path,
      ms: Math.round(ms * 10) / 10,
    };
    if (outcome === 'allowed') this.#options.log.info(fields, toPrintableLine(message, 500));
    else this.#options.log.warn(fields, toPrintableLine(message, 2_000));
  }

  #announce({ review: { user, config }, verdict }: JudgedReview): void {
    const { outcome, code, message, overrideReason: reason, references: referrers } = verdict;
    if (config === undefined) return;
    const { name, uid } = config;
    const time = this.#options.now();
    if (outcome === 'denied') this.lastDenial = { time, name, user, referrers };
    else this.deletions.set(name, { time, user, ...(reason !== undefined && { reason }) });

    const regarding = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig', name, uid };
    const variant = `${code} ${user}`;
    const record = (event: 'DeletionDenied' | 'DeletionOverridden', text: string): void =>
      this.#options.events.record({ regarding, action: 'Delete', variant, reason: event, note: `${user}: ${text}` });
    if (outcome === 'denied') record('DeletionDenied', message);
    if (outcome === 'overridden') record('DeletionOverridden', `${message}: ${reason}`);
  }
}

interface AnswerMetrics {
  readonly decisions: Counter;
  readonly calls: Counter;
  readonly duration: Histogram;
  readonly missingConfigs: Counter;
}

/** Labels have few values, none of them from a request. */
function createMetrics(registry: Registry<OpenMetricsContentType>): AnswerMetrics {
  const registers = [registry];
  const decisions = new Counter({
    name: 'mcguard_decisions_total',
    help: 'Answered reviews by verdict, code and whether they were dry runs.',
    labelNames: ['verdict', 'code', 'dry_run'],
    registers,
  });
  const calls = new Counter({
    name: 'mcguard_webhook_calls_total',
    help: 'Answered calls by whether they had an Authorization header, whose value the guard does not read.',
    labelNames: ['authorization'],
    registers,
  });
  const duration = new Histogram({
    name: 'mcguard_decision_duration_seconds',
    help: 'Time from the arrival of a review to its answer, by path: none, index or live.',
    labelNames: ['path'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const missingConfigs = new Counter({
    name: 'mcguard_missing_config_reviews_total',
    help: 'Reviews that are not about an existing MachineConfig, which the API server almost never sends.',
    registers,
  });
  for (const [code, verdict] of Object.entries(COUNTED_CODES)) {
    for (const dry_run of ['false', 'true']) decisions.inc({ verdict, code, dry_run }, 0);
  }
  for (const authorization of ['false', 'true']) calls.inc({ authorization }, 0);
  return { decisions, calls, duration, missingConfigs };
}

function createLimits(): Readonly<Record<'byAddress' | 'total', RateLimiter>> {
  return {
    byAddress: new RateLimiter(LOGGED_BURST, LOG_INTERVAL_MS),
    total: new RateLimiter(4 * LOGGED_BURST, LOG_INTERVAL_MS / 4),
  };
}
