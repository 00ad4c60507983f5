import type { Logger } from 'pino';
import { toPrintableLine } from '../common/printable-text.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { RateLimiter } from '../common/rate-limiter.ts';
import { ThrottledLog } from '../common/throttled-log.ts';
import type { AnsweredCall, JudgedReview } from './review.ts';

export interface AnswerRecorderOptions {
  readonly log: Logger;
  readonly metrics: { readonly countAnswer: (judged: JudgedReview, call: AnsweredCall) => void };
  readonly events: Pick<EventRecorder, 'record'>;
  readonly recordAnswer: (judged: JudgedReview) => void;
}

/** A cluster has fewer rendered configs, so a deletion of all of them is logged completely. */
const LOGGED_BURST = 5_000;
/** Then a client that repeats reviews writes 12 kB of log in a second. */
const LOG_INTERVAL_MS = 50;
const MAX_REASON_LENGTH = 256;

/**
 * Records what the guard has answered. A metric counts every answer. Any client can send malformed reviews and
 * reviews of configs that do not exist, so they share few log lines. The log has all other answers, up to a limit for
 * each address. Within it, an answer about an existing config becomes a part of the status, and a denial or an
 * override also an Event, unless it is a dry run.
 */
export class AnswerRecorder {
  readonly #options: AnswerRecorderOptions;
  /** Overrides have their own limits, so that a flood of other reviews hides none. */
  readonly #limits = { overrides: createLimits(), others: createLimits() };
  readonly #throttledLog: ThrottledLog;

  constructor(options: AnswerRecorderOptions) {
    this.#options = options;
    this.#throttledLog = new ThrottledLog(options.log);
  }

  record(judged: JudgedReview, call: AnsweredCall): void {
    const { review, verdict, configState } = judged;
    const { code, config: name = '', message } = verdict;
    this.#options.metrics.countAnswer(judged, call);
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
      overrideReason: overrideReason && toPrintableLine(overrideReason, MAX_REASON_LENGTH),
      path,
      ms: Math.round(ms * 10) / 10,
    };
    if (outcome === 'allowed') this.#options.log.info(fields, toPrintableLine(message, 500));
    else this.#options.log.warn(fields, toPrintableLine(message, 2_000));
  }

  #announce(judged: JudgedReview): void {
    const { events, recordAnswer } = this.#options;
    const { user, config } = judged.review;
    const { outcome, message, overrideReason = '' } = judged.verdict;
    if (config === undefined) return;
    recordAnswer(judged);
    const { name, uid } = config;
    const regarding = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig', name, uid };
    const record = (reason: 'DeletionDenied' | 'DeletionOverridden', text: string): void =>
      events.record({ regarding, action: 'Delete', variant: user, reason, note: `${user}: ${text}` });
    if (outcome === 'denied') record('DeletionDenied', message);
    const override = toPrintableLine(overrideReason, MAX_REASON_LENGTH);
    if (outcome === 'overridden') record('DeletionOverridden', `${message}: ${override}`);
  }
}

function createLimits(): Readonly<Record<'byAddress' | 'total', RateLimiter>> {
  return {
    byAddress: new RateLimiter(LOGGED_BURST, LOG_INTERVAL_MS),
    total: new RateLimiter(4 * LOGGED_BURST, LOG_INTERVAL_MS / 4),
  };
}
