import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Mode } from '../decision/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { MACHINE_CONFIGS, ConfigIndex } from '../references/config-index.ts';
import { Lease, type LeaseTiming } from '../kube/lease.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import {
  type DanglingFinding,
  DanglingReferenceDetector,
  describeFinding,
} from '../references/dangling-reference-detector.ts';
import type { ReflectorTiming } from '../kube/reflector.ts';
import { type Condition, type GuardStatus, StatusWriter } from './status-writer.ts';
import { countNoun } from '../decision/printable-text.ts';
import type { Decision } from '../webhook/decision.ts';
import type { Expiry, ServingCertificate } from '../certificates/serving-certificate.ts';

/** What a {@link StatusReporter} needs. */
export interface StatusReporterOptions {
  readonly api: KubeApi;
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
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #configs: ConfigIndex;
  readonly #health: DanglingReferenceDetector;
  readonly #lease: Lease;
  readonly #writer: StatusWriter;

  constructor(options: StatusReporterOptions) {
    const { api, log, index, namespace, leaseTiming, reflectorTiming, now = () => new Date() } = options;
    this.#options = options;
    this.#configs = new ConfigIndex({ api, log, timing: reflectorTiming, now });
    this.#health = new DanglingReferenceDetector({
      api,
      index,
      configs: this.#configs,
      log,
      now,
      onFound: (finding) => {
        // Each replica finds it; one Event is enough.
        if (this.#lease.isHeld) this.#announce(finding);
      },
    });
    const identity = `${hostname()}_${randomUUID()}`;
    const lease = { api, namespace, name: LEASE, identity, log };
    this.#lease = new Lease(leaseTiming === undefined ? lease : { ...lease, timing: leaseTiming });
    this.#writer = new StatusWriter({
      api,
      log,
      isWriter: () => this.#lease.isHeld,
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
  recordDenial({ name, user, verdict }: Decision): void {
    const now = this.#options.now ?? (() => new Date());
    this.#writer.recordDenial({ time: now(), name, user, referrers: verdict.references });
  }

  #announce(finding: DanglingFinding): void {
    if (finding.kind !== 'Node') return;
    const { name } = finding;
    this.#options.events.record({
      // The kubelet's convention for Events about its node, by which `oc describe node` finds them: the name for a uid.
      regarding: { apiVersion: 'v1', kind: 'Node', name, uid: name },
      reason: 'DanglingReference',
      action: 'Check',
      note: describeFinding(finding),
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
    const missing = [...this.#options.index.unsynced, ...(this.#configs.isSynced ? [] : [MACHINE_CONFIGS.name])];
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

function consistent(findings: readonly DanglingFinding[]): Condition {
  const type = 'ReferencesConsistent';
  if (findings.length === 0) {
    return { type, status: 'True', reason: 'AllExist', message: 'every MachineConfig that is named exists' };
  }
  const more = findings.length - NAMED_REFERENCES;
  const named = findings.slice(0, NAMED_REFERENCES).map(describeFinding).join('. ');
  const message = `${countNoun(findings.length, 'dangling reference')}: ${named}${more > 0 ? `. And ${more} more` : ''}`;
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
    ({ isRenewedHere, notAfter }) => !isRenewedHere && notAfter.getTime() - now.getTime() < 30 * 86_400_000,
  );
  return { type, status: 'True', reason: soon ? 'ExpiresSoon' : 'Valid', message };
}
