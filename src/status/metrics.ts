import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import type { ServingCertificate } from '../certificates/key-pair.ts';
import { REFERRER_KINDS, type ReferrerKind } from '../mco/referrer.ts';
import { DEFAULT_SETTINGS, type FollowedSettings, MODES } from '../api/settings.ts';
import type { LiveReader } from '../references/live-reader.ts';
import type { FollowedKind, ReferenceIndex } from '../references/reference-index.ts';
import { findStalledRestores } from './describe-status.ts';
import type { StatusReporter } from './status-reporter.ts';
import type { AnsweredCall, JudgedReview } from '../review/review.ts';
import type { ConfigReferrers } from '../references/config-referrers.ts';

export interface MetricsOptions {
  readonly index: Pick<ReferenceIndex, 'byConfig' | 'listPools'> & {
    readonly reflectors: readonly Pick<FollowedKind, 'resource' | 'silentMs'>[];
  };
  readonly live: Pick<LiveReader, 'readCount'>;
  readonly settings: FollowedSettings;
  readonly reporter: () => Pick<StatusReporter, 'danglingCount' | 'protectedConfigs'> | undefined;
  readonly certificate: Pick<ServingCertificate, 'expiries'>;
}

/** These series start with 0, because `increase()` misses the first increment of a new series. */
const COUNTED_CODES = { MCG_IN_USE: 'denied', MCG_HELD: 'denied', MCG_UNVERIFIED: 'denied', MCG_NOT_IN_USE: 'allowed' };

/** From a denial by the index to the timeout of the webhook. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The guard's metrics. Labels have few values, none of them from a request. */
export class Metrics {
  readonly #registry = new Registry<OpenMetricsContentType>();
  readonly #decisions = new Counter({
    name: 'mcguard_decisions_total',
    help: 'Answered reviews by verdict, code and whether they were dry runs.',
    labelNames: ['verdict', 'code', 'dry_run'],
    registers: [this.#registry],
  });
  readonly #calls = new Counter({
    name: 'mcguard_webhook_calls_total',
    help: 'Answered calls by whether they had an Authorization header, whose value the guard does not read.',
    labelNames: ['authorization'],
    registers: [this.#registry],
  });
  readonly #duration = new Histogram({
    name: 'mcguard_decision_duration_seconds',
    help: 'Time from the arrival of a review to its answer, by path: none, index or live.',
    labelNames: ['path'],
    buckets: BUCKETS_SECONDS,
    registers: [this.#registry],
  });
  readonly #missingConfigs = new Counter({
    name: 'mcguard_missing_config_reviews_total',
    help: 'Reviews that are not about an existing MachineConfig, which the API server almost never sends.',
    registers: [this.#registry],
  });
  readonly #taskFailures = new Counter({
    name: 'mcguard_task_failures_total',
    help: 'Failures of background tasks, by task. The guard repeats the task.',
    labelNames: ['task'],
    registers: [this.#registry],
  });

  constructor({ index, live, settings, reporter, certificate }: MetricsOptions) {
    // The only format, because prom-client permanently renames the counters in OpenMetrics.
    this.#registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    for (const [code, verdict] of Object.entries(COUNTED_CODES)) {
      for (const dry_run of ['false', 'true']) this.#decisions.inc({ verdict, code, dry_run }, 0);
    }
    for (const authorization of ['false', 'true']) this.#calls.inc({ authorization }, 0);
    const reads: Counter = new Counter({
      name: 'mcguard_live_reads_total',
      help: 'Live reads of all references.',
      registers: [this.#registry],
      collect: () => {
        reads.reset();
        reads.inc(live.readCount);
      },
    });
    const expiryHelp = 'End of the validity of the serving certificate and of its authority, in seconds since 1970.';
    const readExpiries = () =>
      certificate.expiries().map(({ certificate: name, notAfter }) => [name, notAfter.getTime() / 1000] as const);
    this.#addGauge('mcguard_certificate_expiry_timestamp_seconds', expiryHelp, readExpiries, 'certificate');
    const readModes = () => {
      const { mode } = settings.current() ?? DEFAULT_SETTINGS;
      return MODES.map((candidate) => [candidate, candidate === mode ? 1 : 0] as const);
    };
    this.#addGauge('mcguard_mode', '1 for the current mode, 0 for the others.', readModes, 'mode');
    const danglingHelp = 'References to MachineConfigs that do not exist, and pools whose status should name one.';
    this.#addGauge('mcguard_dangling_references', danglingHelp, () => reporter()?.danglingCount);
    const stalledHelp = 'Pools that have been paused for a restore for longer than an hour.';
    const countStalled = (): number => findStalledRestores(index.listPools(), new Date()).length;
    this.#addGauge('mcguard_stalled_restores', stalledHelp, countStalled);
    const protectedHelp = 'Rendered MachineConfigs that are in use.';
    this.#addGauge('mcguard_protected_configs', protectedHelp, () => reporter()?.protectedConfigs);
    const ageHelp = 'Time since the last message from the API server about the resource.';
    const readAges = () => {
      const followed = index.reflectors.map(({ resource, silentMs }) => ({ name: resource.name, silentMs }));
      const all = [...followed, { name: 'machineconfigguards', silentMs: settings.silentMs }];
      return all.flatMap(({ name, silentMs }) => (silentMs === undefined ? [] : [[name, silentMs / 1000] as const]));
    };
    this.#addGauge('mcguard_index_age_seconds', ageHelp, readAges, 'resource');
    const referencesHelp = 'Strong references to MachineConfigs, by kind of referrer.';
    this.#addGauge('mcguard_references', referencesHelp, () => countStrongReferences(index.byConfig.values()), 'kind');
    const version = new Map([[packageJson.version, 1]]);
    this.#addGauge('mcguard_build_info', 'Always 1; the label tells the version.', () => version, 'version');
    this.#addGauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
    // Computed once, because each result would differ by microseconds.
    const startedAt = Date.now() / 1000 - process.uptime();
    this.#addGauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', () => startedAt);
  }

  countAnswer({ review, verdict, path, configState }: JudgedReview, { hasAuthorization, ms }: AnsweredCall): void {
    this.#calls.inc({ authorization: String(hasAuthorization) });
    if (configState === 'missing') {
      this.#missingConfigs.inc();
      return;
    }
    this.#decisions.inc({ verdict: verdict.outcome, code: verdict.code, dry_run: String(review.isDryRun) });
    this.#duration.observe({ path }, ms / 1000);
  }

  countTaskFailure(task: string): void {
    this.#taskFailures.inc({ task });
  }

  async scrape(): Promise<{ text: string; contentType: string }> {
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  /** Adds a gauge of one value, or of one for each value of a label. An undefined value is not exported. */
  #addGauge(
    name: string,
    help: string,
    read: () => number | undefined | Iterable<readonly [string, number]>,
    ...labelNames: [] | [label: string]
  ): void {
    const collect = (): void => {
      const values = read();
      gauge.reset();
      if (values === undefined) gauge.remove();
      else if (typeof values === 'number') gauge.set(values);
      else for (const [label, value] of values) gauge.labels(label).set(value);
    };
    const gauge: Gauge = new Gauge({ name, help, labelNames, registers: [this.#registry], collect });
  }
}

function countStrongReferences(configs: Iterable<ConfigReferrers>): Map<ReferrerKind, number> {
  const counts = new Map(REFERRER_KINDS.map((kind) => [kind, 0]));
  for (const referrers of configs) {
    for (const [kind, count] of counts) counts.set(kind, count + referrers.countStrong(kind));
  }
  return counts;
}
