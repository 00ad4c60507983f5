import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Expiry, ServingCertificate } from '../certificates/serving-certificate.ts';
import { formatName } from '../decision/message.ts';
import { countNoun } from '../common/printable-text.ts';
import type { PoolReferrer } from '../decision/references.ts';
import type { Mode } from '../decision/settings.ts';
import { findStalledRestores } from './stalled-restores.ts';
import { INSTALLED_NAME } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { Lease, type LeaseTiming } from './lease.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import { DanglingReferenceDetector, type DanglingFinding, describeFinding } from './dangling-reference-detector.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import { MACHINE_CONFIGS } from '../references/sources.ts';
import type { JudgedReview } from '../webhook/judged-review.ts';
import { describeTlsProfile, type FollowedTlsProfile } from '../webhook/tls-profile.ts';
import { type Condition, type GuardStatus, StatusWriter, toSeconds } from './status-writer.ts';

export interface StatusReporterOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  readonly index: Pick<ReferenceIndex, 'isSynced' | 'unsynced' | 'referrers'>;
  readonly configs: Pick<ConfigIndex, 'isSynced' | 'isForbidden' | 'names' | 'deletedAt'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly certificate: Pick<ServingCertificate, 'expiries'>;
  readonly mode: () => Mode;
  /** Undefined if flags set the TLS parameters. */
  readonly tlsProfile?: (() => FollowedTlsProfile) | undefined;
  readonly leaseNamespace: string;
  /** Unique for each replica. The process that a container restarts has the one of its predecessor. */
  readonly leaseHolder: string;
  readonly leaseTiming?: LeaseTiming | undefined;
  readonly now?: () => Date;
}

const MAX_LISTED_REFERENCES = 50;
const MAX_DESCRIBED_FINDINGS = 3;
const EXPIRES_SOON_MS = 30 * 86_400_000;

/**
 * Writes the status of the MachineConfigGuard, and records Events about nodes whose config does not exist. No decision
 * depends on it.
 */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #now: () => Date;
  readonly #detector: DanglingReferenceDetector;
  readonly #lease: Lease;
  readonly #writer: StatusWriter;

  constructor(options: StatusReporterOptions) {
    const { api, log, index, configs, leaseNamespace, leaseHolder, leaseTiming, now = () => new Date() } = options;
    this.#options = options;
    this.#now = now;
    this.#detector = new DanglingReferenceDetector({
      api,
      index,
      configs,
      log,
      now,
      onFound: (finding) => {
        this.#recordEvent(finding);
      },
    });
    const timing = leaseTiming === undefined ? {} : { timing: leaseTiming };
    this.#lease = new Lease({
      api,
      namespace: leaseNamespace,
      name: INSTALLED_NAME,
      identity: leaseHolder,
      log,
      ...timing,
    });
    const isLeader = (): boolean => this.#lease.isHeld;
    this.#writer = new StatusWriter({
      api,
      log,
      isLeader,
      status: () => this.#status(),
    });
  }

  /** Undefined if the guard may not read MachineConfigs. */
  get danglingCount(): number | undefined {
    return this.#options.configs.isForbidden ? undefined : this.#detector.findings.length;
  }

  /** The number of rendered configs in use. Undefined if the guard may not read MachineConfigs. */
  get protectedConfigs(): number | undefined {
    return this.#options.configs.isForbidden ? undefined : this.#detector.protectedConfigs;
  }

  /** Reports until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#detector, this.#lease, this.#writer].map(async (part) => await part.run(signal)));
  }

  recordAnswer({ review: { user }, verdict }: JudgedReview): void {
    const { config: name = '', outcome, references } = verdict;
    const answer = { time: this.#now(), name, user };
    if (outcome === 'denied') this.#writer.recordDenial({ ...answer, references });
    else this.#writer.recordAllowedDeletion(answer);
  }

  /** Every replica finds and records it, and the API server keeps one Event. */
  #recordEvent(finding: DanglingFinding): void {
    const { kind, name, config } = finding;
    if (kind !== 'Node') return;
    this.#options.events.record({
      // Like the kubelet, with the name as uid: `oc describe node` finds the Event.
      regarding: { apiVersion: 'v1', kind: 'Node', name, uid: name },
      reason: 'DanglingReference',
      action: 'Check',
      note: describeFinding(finding),
      config,
    });
  }

  #status(): GuardStatus {
    const { mode, certificate, tlsProfile } = this.#options;
    const findings = this.#options.configs.isForbidden ? [] : this.#detector.findings;
    return {
      mode: mode(),
      version: packageJson.version,
      protectedConfigs: this.protectedConfigs ?? null,
      danglingCount: this.danglingCount ?? null,
      danglingReferences: findings
        .slice(0, MAX_LISTED_REFERENCES)
        .map(({ kind, name, field, config, since, deletedAt, explanation, suggestion }) => ({
          kind,
          name,
          field,
          config: formatName(config ?? ''),
          since: toSeconds(since),
          deletedAt: deletedAt && toSeconds(deletedAt),
          explanation,
          suggestion: suggestion ?? '',
        })),
      conditions: [
        this.#readyCondition(),
        this.#referencesCondition(),
        this.#restoresCondition(),
        certificatesCondition(certificate.expiries(), this.#now()),
        ...(tlsProfile === undefined ? [] : [tlsProfileCondition(tlsProfile())]),
      ],
    };
  }

  #readyCondition(): Condition {
    const type = 'Ready';
    const { index, configs } = this.#options;
    const unsynced = [...index.unsynced, ...(configs.isSynced || configs.isForbidden ? [] : [MACHINE_CONFIGS.name])];
    return unsynced.length === 0
      ? { type, status: 'True', reason: 'Serving', message: 'the guard serves and has listed the cluster' }
      : { type, status: 'False', reason: 'Reading', message: `not listed yet: ${unsynced.join(', ')}` };
  }

  #referencesCondition(): Condition {
    const type = 'ReferencesConsistent';
    const findings = this.#detector.findings;
    if (this.#options.configs.isForbidden) {
      const message = 'the guard may not read MachineConfigs, so it cannot check whether they exist';
      return { type, status: 'Unknown', reason: 'Forbidden', message };
    }
    if (!this.#options.configs.isSynced) {
      return { type, status: 'Unknown', reason: 'Reading', message: `not listed yet: ${MACHINE_CONFIGS.name}` };
    }
    if (findings.length === 0) {
      return { type, status: 'True', reason: 'AllExist', message: 'every referenced MachineConfig exists' };
    }
    const described = findings.slice(0, MAX_DESCRIBED_FINDINGS).map(describeFinding).join('. ');
    const left = findings.length - MAX_DESCRIBED_FINDINGS;
    const more = left > 0 ? `. And ${left} more` : '';
    const message = `${countNoun(findings.length, 'dangling reference')}: ${described}${more}`;
    return { type, status: 'False', reason: 'DanglingReferences', message };
  }

  /** A pool that stays paused gets no update. */
  #restoresCondition(): Condition {
    const type = 'RestoresComplete';
    const stalled = findStalledRestores(this.#options.index.referrers(), this.#now());
    if (stalled.length === 0) {
      return { type, status: 'True', reason: 'NoneStalled', message: 'no pool stays paused for a restore' };
    }
    const pools = stalled.slice(0, MAX_DESCRIBED_FINDINGS).map(describeRestore).join('. ');
    const message = `${pools}. The command "machineconfig-guard check" prints how to continue or to give up`;
    return { type, status: 'False', reason: 'PoolPausedForRestore', message };
  }
}

function describeRestore({ name, pausedForRestore }: PoolReferrer): string {
  const { config = '', since } = pausedForRestore ?? {};
  const time = since === undefined ? '' : ` since ${toSeconds(since)}`;
  return `pool ${name} is paused${time} for a restore of ${formatName(config)}`;
}

function certificatesCondition(expiries: readonly Expiry[], now: Date): Condition {
  const type = 'CertificatesValid';
  const message = expiries
    .map(({ certificate, notAfter }) => `${certificate} until ${notAfter.toISOString().slice(0, 10)}`)
    .join(', ');
  if (expiries.some(({ notAfter }) => notAfter <= now)) return { type, status: 'False', reason: 'Expired', message };
  const expiresSoon = expiries.some(
    ({ isRenewedByGuard, notAfter }) => !isRenewedByGuard && notAfter.getTime() - now.getTime() < EXPIRES_SOON_MS,
  );
  return { type, status: 'True', reason: expiresSoon ? 'ExpiresSoon' : 'Valid', message };
}

function tlsProfileCondition({ profile, problem }: FollowedTlsProfile): Condition {
  const type = 'TLSProfileApplied';
  if (problem !== undefined) {
    return { type, status: problem.reason === 'Unsupported' ? 'False' : 'Unknown', ...problem };
  }
  return { type, status: 'True', reason: profile.type, message: describeTlsProfile(profile) };
}
