import type { Logger } from 'pino';
import type { ServingCertificate } from '../certificates/key-pair.ts';
import { repeat } from '../common/wait.ts';
import type { Settings } from '../api/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { FollowedTlsProfile } from '../serving/tls-profile.ts';
import { type DanglingFinding, DanglingReferenceDetector, describeFinding } from './dangling-reference-detector.ts';
import { describeStatus } from './describe-status.ts';
import { Lease } from './lease.ts';
import { StatusWriter, type StatusWriterOptions } from './status-writer.ts';
import { INSTALLED_NAME } from '../api/paths.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import type { GuardStatus } from './guard-status.ts';
import type { StatusInput } from './status-input.ts';

export interface StatusReporterOptions extends Pick<StatusInput, 'history'> {
  readonly index: ReferenceIndex;
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  readonly configs: ConfigIndex;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly certificate: Pick<ServingCertificate, 'expiries'>;
  readonly settings: () => Settings;
  readonly stored: StatusWriterOptions['stored'];
  readonly answers: StatusWriterOptions['answers'];
  readonly tlsProfile: () => FollowedTlsProfile;
  readonly leaseNamespace: string;
  /** Unique for each replica. The process that a container restarts has the one of its predecessor. */
  readonly leaseHolder: string;
  readonly onTaskFailure: (task: string) => void;
  /** By the clock of the API server. */
  readonly now: () => Date;
}

/** A finding is in the status within five seconds. */
const INTERVAL_MS = 1_000;

/** Writes the status, and records Events about nodes whose config does not exist. No decision depends on it. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #detector: DanglingReferenceDetector;
  readonly #lease: Lease;
  readonly #writer: StatusWriter;

  constructor(options: StatusReporterOptions) {
    const { api, log, leaseNamespace: namespace, leaseHolder: identity, onTaskFailure } = options;
    this.#options = options;
    const onFound = (finding: DanglingFinding): void => this.#recordEvent(finding);
    this.#detector = new DanglingReferenceDetector({ ...options, onFound });
    const onLeaseFailure = (): void => onTaskFailure('acquire the Lease');
    this.#lease = new Lease({ api, log, namespace, name: INSTALLED_NAME, identity, onFailure: onLeaseFailure });
    this.#writer = new StatusWriter({ ...options, onFailure: () => onTaskFailure('write the status') });
  }

  /** Undefined if the guard may not read MachineConfigs, and before the first check. */
  get danglingCount(): number | undefined {
    return this.#options.configs.isForbidden ? undefined : this.#detector.findings?.length;
  }

  get protectedConfigs(): number | undefined {
    return this.#options.configs.isForbidden ? undefined : this.#detector.protectedConfigs;
  }

  /** Follows references, Lease and status until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = {
      'find dangling references': () => this.#detector.check(signal),
      'write the status': () => this.#writer.write(this.#lease.isHeld ? this.#status() : undefined, signal),
    };
    const { log, onTaskFailure } = this.#options;
    const repeatTask = async ([task, work]: [string, () => void | Promise<void>]): Promise<void> =>
      await repeat(INTERVAL_MS, signal, work, (error) => {
        log.error({ err: error, task }, 'a background task failed; it runs again');
        onTaskFailure(task);
      });
    await Promise.all([...Object.entries(tasks).map(repeatTask), this.#lease.run(signal)]);
  }

  /** Undefined while the first check runs: the status of another leader can already contain what it will find. */
  #status(): GuardStatus | undefined {
    const { settings, certificate, tlsProfile, index, configs } = this.#options;
    const { findings } = this.#detector;
    if (findings === undefined && index.isSynced && configs.isSynced) return undefined;
    return describeStatus({
      ...this.#options,
      settings: settings(),
      findings: configs.isForbidden ? undefined : findings,
      protectedConfigs: this.protectedConfigs,
      expiries: certificate.expiries(),
      tlsProfile: tlsProfile(),
      now: this.#options.now(),
    });
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
      // A node gets an Event for each config that it names.
      variant: config,
    });
  }
}
