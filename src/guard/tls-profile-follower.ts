import type { Logger } from 'pino';
import { API_SERVERS_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ProblemLog } from '../kube/problem-log.ts';
import { Reflector, type ReflectorTiming } from '../kube/reflector.ts';
import type { Resource } from '../kube/resource.ts';
import {
  describeTlsProfile,
  INTERMEDIATE,
  parseTlsProfile,
  type TlsPolicy,
  type TlsProfile,
} from '../webhook/tls-profile.ts';

export interface TlsProfileFollowerOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly timing?: ReflectorTiming;
}

/** The profile that applies, for the status. */
export interface FollowedTlsProfile {
  readonly profile: TlsProfile;
  /** Why it may not be the profile of the cluster: reason and message of a condition. */
  readonly problem?: { readonly reason: string; readonly message: string };
}

interface FollowedApiServer {
  readonly name: string;
  readonly profile: TlsProfile;
}

const API_SERVER: Resource<FollowedApiServer> = {
  kind: 'APIServer',
  name: 'apiservers',
  paths: [API_SERVERS_PATH],
  objectName: 'cluster',
  // Kubernetes without OpenShift does not serve it.
  isOptional: true,
  isMetadataOnly: false,
  parse: (object) => ({ name: 'cluster', profile: parseTlsProfile(object) }),
};

/**
 * Follows `spec.tlsSecurityProfile` of the APIServer `cluster`. Intermediate applies without it, and until it was read.
 * While the API server is unreachable, the last known profile applies.
 */
export class TlsProfileFollower implements TlsPolicy {
  readonly #log: Logger;
  readonly #reflector: Reflector<FollowedApiServer>;
  readonly #problem: ProblemLog;
  readonly #listeners: (() => void)[] = [];
  #profile = INTERMEDIATE;

  constructor({ api, log, timing }: TlsProfileFollowerOptions) {
    this.#log = log;
    this.#problem = new ProblemLog(log);
    this.#reflector = new Reflector({
      api,
      log,
      resource: API_SERVER,
      timing,
      onChange: (_before, after) => this.#apply(after?.profile ?? INTERMEDIATE),
    });
  }

  current(): TlsProfile {
    return this.#profile;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  followed(): FollowedTlsProfile {
    const profile = this.#profile;
    const { isForbidden, isSynced } = this.#reflector;
    const applied = `${profile.type} applies: ${describeTlsProfile(profile)}`;
    if (isForbidden) {
      const message = `the guard may not read apiservers.config.openshift.io; ${applied}`;
      return { profile, problem: { reason: 'Forbidden', message } };
    }
    if (isSynced) return { profile };
    return { profile, problem: { reason: 'Reading', message: `not listed yet: apiservers; ${applied}` } };
  }

  /** Follows until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }

  #apply(profile: TlsProfile): void {
    const { type, unusable, unsupported } = profile;
    const description = describeTlsProfile(profile);
    if (unusable !== undefined) this.#problem.warn(`${unusable}; serving with ${description}`);
    else if (unsupported.length > 0) this.#problem.warn(`TLS profile ${type}: ${description}`);
    else this.#problem.clear();
    const { minVersion, ciphers } = this.#profile;
    this.#profile = profile;
    if (profile.minVersion === minVersion && profile.ciphers === ciphers) return;
    this.#log.info({ profile: type, minVersion: profile.minVersion }, `TLS profile is ${type}`);
    for (const listener of this.#listeners) listener();
  }
}
