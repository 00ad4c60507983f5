import type { Logger } from 'pino';
import { API_SERVERS_PATH, objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { pollObject } from '../kube/poll-object.ts';
import { ProblemLog } from '../common/problem-log.ts';
import {
  describeTlsProfile,
  type FollowedTlsProfile,
  INTERMEDIATE,
  parseTlsProfile,
  type TlsPolicy,
  type TlsProfile,
  UnusableTlsProfile,
} from '../webhook/tls-profile.ts';

export interface TlsProfileFollowerOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** Milliseconds between two reads. */
  readonly intervalMs?: number;
}

const PATH = objectPath(API_SERVERS_PATH, 'cluster');
const INTERVAL_MS = 60_000;
const RETRY_INTERVAL_MS = 1_000;

/**
 * Reads `spec.tlsSecurityProfile` of the APIServer `cluster` every minute. Intermediate applies without it, and until
 * it was read. While it is unreadable, the last known profile applies.
 */
export class TlsProfileFollower implements TlsPolicy {
  readonly #options: TlsProfileFollowerOptions;
  readonly #problem: ProblemLog;
  readonly #listeners: (() => void)[] = [];
  #profile = INTERMEDIATE;
  /** Of the last read. Undefined if it succeeded. */
  #failure: { readonly reason: string; readonly message: string } | undefined = {
    reason: 'Reading',
    message: 'not read yet: apiservers',
  };

  constructor(options: TlsProfileFollowerOptions) {
    this.#options = options;
    this.#problem = new ProblemLog(options.log);
  }

  current(): TlsProfile {
    return this.#profile;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  followed(): FollowedTlsProfile {
    const profile = this.#profile;
    if (this.#failure === undefined) return { profile };
    const { reason, message } = this.#failure;
    const applied = `${profile.type} applies: ${describeTlsProfile(profile)}`;
    return { profile, problem: { reason, message: `${message}; ${applied}` } };
  }

  /** Follows until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { api, intervalMs = INTERVAL_MS } = this.#options;
    await pollObject(
      {
        api,
        path: PATH,
        kind: 'APIServer',
        intervalMs: () => (this.#failure === undefined ? intervalMs : Math.min(intervalMs, RETRY_INTERVAL_MS)),
        // Kubernetes without OpenShift does not serve it.
        onRead: (object) => this.#apply(object === undefined ? INTERMEDIATE : parseTlsProfile(object)),
        onFailure: (error) => {
          this.#failure = describeFailure(error);
          this.#problem.warn(this.#failure.message);
        },
      },
      signal,
    );
  }

  #apply(profile: TlsProfile): void {
    this.#failure = undefined;
    const { type, minVersion, ciphers, groups, unsupported } = profile;
    if (unsupported.length > 0) this.#problem.warn(`TLS profile ${type}: ${describeTlsProfile(profile)}`);
    else this.#problem.clear();
    const before = this.#profile;
    this.#profile = profile;
    if (minVersion === before.minVersion && ciphers === before.ciphers && groups === before.groups) return;
    this.#options.log.info({ profile: type, minVersion }, `TLS profile is ${type}`);
    for (const listener of this.#listeners) listener();
  }
}

function describeFailure(error: unknown): { readonly reason: string; readonly message: string } {
  if (error instanceof UnusableTlsProfile) return { reason: 'Unsupported', message: error.message };
  if (error instanceof ApiError && error.status === 403)
    return { reason: 'Forbidden', message: 'the guard may not read apiservers.config.openshift.io' };
  return {
    reason: 'Unreadable',
    message: `cannot read apiservers.config.openshift.io: ${describeError(error)}`,
  };
}
