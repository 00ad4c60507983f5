import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { ClusterApi } from '../cluster/api.ts';
import type { EventRecorder } from '../cluster/event-recorder.ts';
import { CONFIGS, KnownConfigs } from '../cluster/known-configs.ts';
import { Lease, type LeaseTiming } from '../cluster/lease.ts';
import type { ReferenceIndex } from '../cluster/reference-index.ts';
import { type Finding, ReferenceHealth, sentenceOf } from '../cluster/reference-health.ts';
import type { ReflectorTiming } from '../cluster/reflector.ts';
import { type Condition, type GuardStatus, StatusWriter } from '../cluster/status-writer.ts';
import { counted } from '../policy/line.ts';
import type { Mode } from '../policy/policy.ts';
import type { Decision } from './decision.ts';
import type { Expiry, ServingCertificate } from './serving-certificate.ts';

/** What a {@link SelfReport} needs. */
export interface SelfReportOptions {
  readonly api: ClusterApi;
  readonly log: Logger;
  readonly index: ReferenceIndex;
  readonly events: EventRecorder;
  readonly certificate: Pick<ServingCertificate, 'expiries'>;
  readonly mode: () => Mode;
  /** Of the Lease by which replicas agree on who writes. */
  readonly namespace: string;
  readonly leaseTiming?: LeaseTiming | undefined;
  readonly reflectorTiming?: ReflectorTiming | undefined;
  readonly now?: () => Date;
}

const LEASE = 'machineconfig-guard';
const LISTED_REFERENCES = 50;
const NAMED_REFERENCES = 3;

/**
 * What the guard tells about the cluster and itself, beside its answers: the status of the MachineConfigGuard, Events on nodes whose
 * config does not exist, the last denial. No decision depends on any of it.
 */
export class SelfReport {
  readonly #options: SelfReportOptions;
  readonly #configs: KnownConfigs;
  readonly #health: ReferenceHealth;
  readonly #lease: Lease;
  readonly #writer: StatusWriter;

  constructor(options: SelfReportOptions) {
    const { api, log, index, namespace, leaseTiming, reflectorTiming, now = () => new Date() } = options;
    this.#options = options;
    this.#configs = new KnownConfigs({ api, log, timing: reflectorTiming, now });
    this.#health = new ReferenceHealth({
      api,
      index,
      configs: this.#configs,
      log,
      now,
      onFound: (finding) => {
        // Each replica finds it; one Event is enough.
        if (this.#lease.held) this.#announce(finding);
      },
    });
    const identity = `${hostname()}_${randomUUID()}`;
    const lease = { api, namespace, name: LEASE, identity, log };
    this.#lease = new Lease(leaseTiming === undefined ? lease : { ...lease, timing: leaseTiming });
    this.#writer = new StatusWriter({
      api,
      log,
      isWriter: () => this.#lease.held,
      status: () => this.#status(now()),
    });
  }

  /** How many references lead nowhere. */
  get dangling(): number {
    return this.#health.findings.length;
  }

  /** How many rendered configs are in use. */
  get protectedConfigs(): number {
    return this.#health.protectedConfigs;
  }

  /** Until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#configs.run(signal),
      this.#health.run(signal),
      this.#lease.run(signal),
      this.#writer.run(signal),
    ]);
  }

  /** Remembers a refusal for the status. */
  denied({ name, user, verdict }: Decision): void {
    const now = this.#options.now ?? (() => new Date());
    this.#writer.denied({ time: now(), name, user, referrers: verdict.referrers });
  }

  #announce(finding: Finding): void {
    if (finding.kind !== 'Node') return;
    const { name } = finding;
    this.#options.events.record({
      // The kubelet's convention for Events about its node, by which `oc describe node` finds them: the name for a uid.
      regarding: { apiVersion: 'v1', kind: 'Node', name, uid: name },
      reason: 'DanglingReference',
      action: 'Check',
      note: sentenceOf(finding),
    });
  }

  #status(now: Date): GuardStatus {
    const { mode, certificate } = this.#options;
    const { findings, protectedConfigs } = this.#health;
    return {
      mode: mode(),
      protectedConfigs,
      danglingCount: findings.length,
      danglingReferences: findings
        .slice(0, LISTED_REFERENCES)
        .map(({ kind, name, field, config, since, explanation, suggestion }) => ({
          kind,
          name,
          field,
          config: config ?? '',
          since: `${since.toISOString().slice(0, -5)}Z`,
          explanation,
          suggestion: suggestion ?? '',
        })),
      conditions: [this.#ready(), consistent(findings), valid(certificate.expiries(), now)],
    };
  }

  #ready(): Condition {
    const missing = [...this.#options.index.unsynced, ...(this.#configs.synced ? [] : [CONFIGS.resource])];
    if (missing.length === 0) {
      return {
        type: 'Ready',
        status: 'True',
        reason: 'Serving',
        message: 'the guard answers and has read the cluster',
      };
    }
    return { type: 'Ready', status: 'False', reason: 'Reading', message: `not read yet: ${missing.join(', ')}` };
  }
}

function consistent(findings: readonly Finding[]): Condition {
  const type = 'ReferencesConsistent';
  if (findings.length === 0) {
    return { type, status: 'True', reason: 'AllExist', message: 'every MachineConfig that is named exists' };
  }
  const more = findings.length - NAMED_REFERENCES;
  const named = findings.slice(0, NAMED_REFERENCES).map(sentenceOf).join('. ');
  const message = `${counted(findings.length, 'dangling reference')}: ${named}${more > 0 ? `. And ${more} more` : ''}`;
  return { type, status: 'False', reason: 'DanglingReferences', message };
}

function valid(expiries: readonly Expiry[], now: Date): Condition {
  const type = 'CertificatesValid';
  const expired = expiries.filter(({ notAfter }) => notAfter <= now);
  const shown = expiries.map(
    ({ certificate, notAfter }) => `${certificate} until ${notAfter.toISOString().slice(0, 10)}`,
  );
  const message = shown.join(', ');
  if (expired.length > 0) return { type, status: 'False', reason: 'Expired', message };
  const soon = expiries.some(
    ({ renewedHere, notAfter }) => !renewedHere && notAfter.getTime() - now.getTime() < 30 * 86_400_000,
  );
  return { type, status: 'True', reason: soon ? 'ExpiresSoon' : 'Valid', message };
}
