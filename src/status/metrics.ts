import { Counter, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import type { ServingCertificate } from '../certificates/key-pair.ts';
import { REFERRER_KINDS, type ReferrerKind } from '../mco/referrer.ts';
import { type FollowedSettings, MODES } from '../api/settings.ts';
import type { LiveReader } from '../references/live-reader.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import { findStalledRestores } from './describe-status.ts';
import type { StatusReporter } from './status-reporter.ts';
import type { ConfigReferrers } from '../references/config-referrers.ts';
import { findCurrentSettings } from '../review/decide.ts';
import { measureAge } from '../common/wait.ts';

export interface MetricsOptions {
  /** Also has the metrics of others. */
  readonly registry: Registry<OpenMetricsContentType>;
  readonly index: ReferenceIndex;
  readonly live: LiveReader;
  readonly settings: FollowedSettings;
  readonly reporter: () => StatusReporter | undefined;
  readonly certificate: ServingCertificate;
  /** By the clock of the API server. */
  readonly now: () => Date;
}

/** What the guard reports at each scrape. Labels have few values. */
export class Metrics {
  readonly #registry: MetricsOptions['registry'];
  readonly #taskFailures: Counter;

  constructor({ registry, index, live, settings, reporter, certificate, now }: MetricsOptions) {
    this.#registry = registry;
    // The only format, because prom-client permanently renames the counters in OpenMetrics.
    this.#registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    this.#taskFailures = new Counter({
      name: 'mcguard_task_failures_total',
      help: 'Failures of background tasks, by task. The guard repeats the task.',
      labelNames: ['task'],
      registers: [registry],
    });
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
      const { mode } = findCurrentSettings(settings);
      return MODES.map((candidate) => [candidate, candidate === mode ? 1 : 0] as const);
    };
    this.#addGauge('mcguard_mode', '1 for the current mode, 0 for the others.', readModes, 'mode');
    const danglingHelp = 'References to MachineConfigs that do not exist, and pools whose status should name one.';
    this.#addGauge('mcguard_dangling_references', danglingHelp, () => reporter()?.danglingCount);
    const stalledHelp = 'Pools that have been paused for a restore for longer than an hour.';
    const countStalled = (): number => findStalledRestores(index.listPools(), now()).length;
    this.#addGauge('mcguard_stalled_restores', stalledHelp, countStalled);
    const protectedHelp = 'Rendered MachineConfigs that are in use.';
    this.#addGauge('mcguard_protected_configs', protectedHelp, () => reporter()?.protectedConfigs);
    const ageHelp = 'Time since the last message from the API server about the resource.';
    const readAges = () => {
      const followed = index.reflectors.map(({ resource, silentMs }) => ({ name: resource.name, silentMs }));
      const { readAt } = settings;
      const all = [...followed, { name: 'machineconfigguards', silentMs: readAt && measureAge(readAt) }];
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

  countTaskFailure(task: string): void {
    this.#taskFailures.inc({ task });
  }

  /** Returns all metrics in OpenMetrics 1.0. */
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
    for (const [kind, count] of counts) counts.set(kind, count + referrers.count(kind));
  }
  return counts;
}
