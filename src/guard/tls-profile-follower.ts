import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { Replaceable } from '../common/replaceable.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError, hasStatus } from '../kube/errors.ts';
import { pollObject } from '../kube/poll-object.ts';
import { ProblemLog } from '../common/problem-log.ts';
import {
  describeTlsProfile,
  type FollowedTlsProfile,
  INTERMEDIATE,
  parseTlsProfile,
  type TlsProfile,
  UnusableTlsProfile,
} from '../serving/tls-profile.ts';
import { API_SERVERS_PATH } from '../mco/api-paths.ts';

export interface TlsProfileFollowerOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
}

const PATH = objectPath(API_SERVERS_PATH, 'cluster');
const INTERVAL_MS = 10_000;

/**
 * Reads `spec.tlsSecurityProfile` of the APIServer `cluster` every ten seconds. Intermediate applies without it, and
 * until it was read. While it is unreadable, the last known profile applies.
 */
export class TlsProfileFollower extends Replaceable<TlsProfile> {
  readonly #options: TlsProfileFollowerOptions;
  readonly #problem: ProblemLog;
  #failure: FollowedTlsProfile['problem'] = { reason: 'Reading', message: 'not read yet: apiservers' };

  constructor(options: TlsProfileFollowerOptions) {
    super(INTERMEDIATE);
    this.#options = options;
    this.#problem = new ProblemLog(options.log);
  }

  followed(): FollowedTlsProfile {
    const profile = this.current();
    if (this.#failure === undefined) return { profile };
    const { reason, message } = this.#failure;
    const applied = `${profile.type} applies: ${describeTlsProfile(profile)}`;
    return { profile, problem: { reason, message: `${message}; ${applied}` } };
  }

  /** Reads the TLS profile of the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { api } = this.#options;
    // Kubernetes without OpenShift does not serve it.
    const onRead = (object: ApiObject | undefined): void => this.#apply(parseTlsProfile(object ?? {}));
    const onFailure = (error: unknown): void => {
      this.#failure = describeFailure(error);
      this.#problem.warn(this.#failure.message);
    };
    await pollObject({ api, path: PATH, kind: 'APIServer', intervalMs: INTERVAL_MS, onRead, onFailure }, signal);
  }

  #apply(profile: TlsProfile): void {
    this.#failure = undefined;
    const { type, minVersion, unsupported } = profile;
    // A person can only change a Custom profile.
    if (type !== 'Custom' || unsupported.length === 0) this.#problem.clear();
    else this.#problem.warn(`TLS profile Custom: ${describeTlsProfile(profile)}`);
    if (isDeepStrictEqual(profile, this.current())) return;
    this.#options.log.info({ profile: type, minVersion }, `TLS profile is ${type}`);
    this.replace(profile);
  }
}

function describeFailure(error: unknown): { readonly reason: string; readonly message: string } {
  if (error instanceof UnusableTlsProfile) return { reason: 'Unsupported', message: error.message };
  if (hasStatus(error, 403))
    return { reason: 'Forbidden', message: 'the guard may not read apiservers.config.openshift.io' };
  return { reason: 'Unreadable', message: `cannot read apiservers.config.openshift.io: ${describeError(error)}` };
}
