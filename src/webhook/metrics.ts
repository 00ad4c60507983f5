import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import { type Mode, MODES } from '../decision/settings.ts';
import type { Referrer, ReferrerKind } from '../decision/references.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { Code } from '../decision/codes.ts';
import type { Decision } from './decision.ts';
import type { Expiry } from '../certificates/serving-certificate.ts';

/** What the metrics read at the moment of a scrape. */
export interface MetricsSources {
  /** Kinds that have not been read completely yet, of all that are read. */
  readonly unsynced: () => readonly string[];
  readonly resources: readonly string[];
  /** How long ago each kind was last heard of, in milliseconds. */
  readonly ages: () => readonly { readonly resource: string; readonly ms: number }[];
  /** Everything that names a config, as the index knows it. */
  readonly referrers: () => Iterable<Referrer>;
  readonly liveReads: () => number;
  readonly mode: () => Mode;
  /** Undefined where nobody looks for them. */
  readonly dangling: () => number | undefined;
  readonly protectedConfigs: () => number | undefined;
  readonly expiries: () => readonly Expiry[];
}

const KINDS: readonly ReferrerKind[] = ['Node', 'MachineConfigPool', 'MachineOSBuild'];
/** A series that is not there until its first refusal would hide just that one from `increase()`. */
const REFUSALS: readonly Code[] = ['MCG_IN_USE', 'MCG_HELD', 'MCG_UNVERIFIED'];

/** From a denial out of the index on an idle machine to the longest that the API server waits. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The guard's metrics. Labels have few values, and none of them comes from a request. */
export class Metrics {
  readonly #registry = new Registry<OpenMetricsContentType>();
  readonly #decisions: Counter<'verdict' | 'code' | 'dry_run'>;
  readonly #duration: Histogram<'path'>;

  constructor(sources: MetricsSources) {
    // For everybody: prom-client renames counters for good when it writes OpenMetrics, so that no other format is right afterwards.
    this.#registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const { unsynced, resources, ages, referrers, liveReads, expiries, mode, dangling, protectedConfigs } = sources;
    const registers = [this.#registry];
    this.#decisions = new Counter({
      name: 'mcguard_decisions_total',
      help: 'Answered reviews by verdict, code and whether they were dry runs.',
      labelNames: ['verdict', 'code', 'dry_run'],
      registers,
    });
    for (const code of REFUSALS) {
      for (const dry_run of ['false', 'true']) this.#decisions.inc({ verdict: 'denied', code, dry_run }, 0);
    }
    this.#duration = new Histogram({
      name: 'mcguard_decision_duration_seconds',
      help: 'Time from the arrival of a review to its answer, by where the knowledge came from.',
      labelNames: ['path'],
      buckets: BUCKETS_S,
      registers,
    });
    const reads: Counter = new Counter({
      name: 'mcguard_live_reads_total',
      help: 'Fresh reads of all references.',
      registers,
      collect: () => {
        reads.reset();
        reads.inc(liveReads());
      },
    });
    const expiry = new Gauge({
      name: 'mcguard_certificate_expiry_timestamp_seconds',
      help: 'End of the validity of the serving certificate and of its authority, in seconds since 1970.',
      labelNames: ['certificate'],
      registers,
      collect: () => {
        expiry.reset();
        for (const { certificate, notAfter } of expiries()) expiry.set({ certificate }, notAfter.getTime() / 1000);
      },
    });
    const modes = new Gauge({
      name: 'mcguard_mode',
      help: '1 for the mode at work, 0 for the others.',
      labelNames: ['mode'],
      registers,
      collect: () => {
        for (const one of MODES) modes.set({ mode: one }, one === mode() ? 1 : 0);
      },
    });
    this.#gauge(
      'mcguard_dangling_references',
      'References that name a MachineConfig which does not exist.',
      () => dangling() ?? 0,
    );
    this.#gauge('mcguard_protected_configs', 'Rendered MachineConfigs that are in use.', () => protectedConfigs() ?? 0);
    const synced = new Gauge({
      name: 'mcguard_index_synced',
      help: '1 if the kind has been read completely since the start.',
      labelNames: ['resource'],
      registers,
      collect: () => {
        const missing = unsynced();
        for (const resource of resources) synced.set({ resource }, missing.includes(resource) ? 0 : 1);
      },
    });
    const age = new Gauge({
      name: 'mcguard_index_age_seconds',
      help: 'Time since the API server last said anything about the kind.',
      labelNames: ['resource'],
      registers,
      collect: () => {
        for (const { resource, ms } of ages()) age.set({ resource }, ms / 1000);
      },
    });
    const references = new Gauge({
      name: 'mcguard_references',
      help: 'Places that name a MachineConfig and protect it, by the kind of object.',
      labelNames: ['kind'],
      registers,
      collect: () => {
        const counts = new Map(KINDS.map((kind) => [kind, 0]));
        for (const { kind, references } of referrers()) {
          const hard = references.filter(({ strength }) => strength === 'strong').length;
          counts.set(kind, (counts.get(kind) ?? 0) + hard);
        }
        for (const [kind, count] of counts) references.set({ kind }, count);
      },
    });
    const buildInfo = new Gauge({
      name: 'mcguard_build_info',
      help: 'Always 1; the label tells the version.',
      labelNames: ['version'],
      registers,
    });
    buildInfo.set({ version: packageJson.version }, 1);
    this.#gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
    // Once: it would differ by microseconds with each scrape.
    const startedAt = Date.now() / 1000 - process.uptime();
    this.#gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', () => startedAt);
  }

  /** Counts an answered review. */
  count({ verdict, dryRun, path, ms }: Decision): void {
    this.#decisions.inc({ verdict: verdict.outcome, code: verdict.code, dry_run: String(dryRun) });
    this.#duration.observe({ path }, ms / 1000);
  }

  /** The text of a scrape, and its content type: OpenMetrics 1.0. */
  async scrape(): Promise<{ text: string; contentType: string }> {
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => {
        gauge.set(value());
      },
    });
  }
}
