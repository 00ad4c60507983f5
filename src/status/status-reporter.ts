import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Expiry, ServingCertificate } from '../certificates/serving-certificate.ts';
import { formatName } from '../decision/message.ts';
import { countNoun } from '../common/printable-text.ts';
import type { PoolReferrer } from '../decision/references.ts';
import { toRecordedReferrers } from '../decision/verdict.ts';
import { ProblemLog } from '../common/logs.ts';
import { repeat } from '../common/wait.ts';
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
import type { JudgedReview } from '../webhook/admission-app.ts';
import { describeTlsProfile, type FollowedTlsProfile } from '../webhook/tls-profile.ts';
import { type Condition, type GuardStatus, StatusWriter } from './status-writer.ts';
import { toSeconds } from '../common/duration.ts';

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

/** A finding is in the status within five seconds. */
const INTERVAL_MS = 1_000;
const MAX_LISTED_REFERENCES = 50;
const MAX_DESCRIBED_FINDINGS = 3;
const DAY_MS = 86_400_000;
const EXPIRES_SOON_DAYS = 30;
const RENEWAL_ADVICE = {
  authority: 'rotate it with `machineconfig-guard render --from-cluster --new-authority`',
  serving: 'renew it at its issuer',
};

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
  readonly #expiryProblem: ProblemLog;

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
    this.#lease = new Lease({
      api,
      namespace: leaseNamespace,
      name: INSTALLED_NAME,
      identity: leaseHolder,
      log,
      timing: leaseTiming,
    });
    this.#writer = new StatusWriter(api, log);
    this.#expiryProblem = new ProblemLog(log);
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
    const status = () => (this.#lease.isHeld ? this.#status() : undefined);
    await Promise.all([
      repeat(INTERVAL_MS, signal, () => this.#detector.check(signal)),
      repeat(INTERVAL_MS, signal, () => this.#writer.writeIfChanged(status, signal)),
      repeat(INTERVAL_MS, signal, () => this.#logExpiries()),
      this.#lease.run(signal),
    ]);
  }

  /** Daily, because the text contains the number of days. */
  #logExpiries(): void {
    const expiries = describeExpiries(this.#options.certificate.expiries(), this.#now());
    if (expiries.length === 0) this.#expiryProblem.clear();
    else this.#expiryProblem.warn(expiries.join('. '));
  }

  recordAnswer({ review: { user }, verdict }: JudgedReview): void {
    const { config: name = '' } = verdict;
    const answer = { time: toSeconds(this.#now()), name, user };
    if (verdict.outcome === 'denied') this.#writer.recordDenial({ ...answer, referrers: toRecordedReferrers(verdict) });
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
        toCondition('Ready', this.#judgeReadiness()),
        toCondition('ReferencesConsistent', this.#judgeReferences()),
        toCondition('RestoresComplete', this.#judgeRestores()),
        toCondition('CertificatesValid', judgeCertificates(certificate.expiries(), this.#now())),
        ...(tlsProfile === undefined ? [] : [toCondition('TLSProfileApplied', judgeTlsProfile(tlsProfile()))]),
      ],
    };
  }

  #judgeReadiness(): Judgement {
    const { index, configs } = this.#options;
    const unsynced = [...index.unsynced, ...(configs.isSynced || configs.isForbidden ? [] : [MACHINE_CONFIGS.name])];
    return unsynced.length === 0
      ? ['True', 'Serving', 'the guard serves and has listed the cluster']
      : ['False', 'Reading', `not listed yet: ${unsynced.join(', ')}`];
  }

  #judgeReferences(): Judgement {
    const { findings } = this.#detector;
    if (this.#options.configs.isForbidden) {
      return ['Unknown', 'Forbidden', 'the guard may not read MachineConfigs, so it cannot check whether they exist'];
    }
    if (!this.#options.configs.isSynced) return ['Unknown', 'Reading', `not listed yet: ${MACHINE_CONFIGS.name}`];
    if (findings.length === 0) return ['True', 'AllExist', 'every referenced MachineConfig exists'];
    const described = findings.slice(0, MAX_DESCRIBED_FINDINGS).map(describeFinding).join('. ');
    const left = findings.length - MAX_DESCRIBED_FINDINGS;
    const more = left > 0 ? `. And ${left} more` : '';
    const message = `${countNoun(findings.length, 'dangling reference')}: ${described}${more}`;
    return ['False', 'DanglingReferences', message];
  }

  /** A pool that stays paused gets no update. */
  #judgeRestores(): Judgement {
    const stalled = findStalledRestores(this.#options.index.referrers(), this.#now());
    if (stalled.length === 0) return ['True', 'NoneStalled', 'no pool stays paused for a restore'];
    const pools = stalled.slice(0, MAX_DESCRIBED_FINDINGS).map(describeRestore).join('. ');
    const command = 'The command "machineconfig-guard check" prints how to continue or to give up';
    return ['False', 'PoolPausedForRestore', `${pools}. ${command}`];
  }
}

type Judgement = readonly [status: Condition['status'], reason: string, message: string];

function toCondition(type: Condition['type'], [status, reason, message]: Judgement): Condition {
  return { type, status, reason, message };
}

function describeRestore({ name, pausedForRestore }: PoolReferrer): string {
  const { config = '', since } = pausedForRestore ?? {};
  const time = since === undefined ? '' : ` since ${toSeconds(since)}`;
  return `pool ${name} is paused${time} for a restore of ${formatName(config)}`;
}

function judgeCertificates(expiries: readonly Expiry[], now: Date): Judgement {
  const dates = expiries.map(({ certificate, notAfter }) => `${certificate} until ${toSeconds(notAfter).slice(0, 10)}`);
  if (expiries.some(({ notAfter }) => notAfter <= now)) return ['False', 'Expired', dates.join(', ')];
  return ['True', describeExpiries(expiries, now).length > 0 ? 'ExpiresSoon' : 'Valid', dates.join(', ')];
}

/** Describes the certificates that somebody must renew within 30 days. The text changes daily. */
function describeExpiries(expiries: readonly Expiry[], now: Date): string[] {
  return expiries.flatMap(({ certificate, notAfter, isRenewedByGuard }) => {
    const days = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS);
    if (isRenewedByGuard || days >= EXPIRES_SOON_DAYS) return [];
    const expires = days < 0 ? `expired ${-days} days ago` : `expires in ${days} days`;
    return [`the ${certificate} certificate ${expires}, at ${toSeconds(notAfter)}: ${RENEWAL_ADVICE[certificate]}`];
  });
}

function judgeTlsProfile({ profile, problem }: FollowedTlsProfile): Judgement {
  if (problem === undefined) return ['True', profile.type, describeTlsProfile(profile)];
  return [problem.reason === 'Unsupported' ? 'False' : 'Unknown', problem.reason, problem.message];
}
