import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Replaceable } from '../common/replaceable.ts';
import type { ServingCertificate } from '../certificates/serving-certificate.ts';
import { INSTALLED_NAME } from '../kube/api-paths.ts';
import type { TlsParameters } from '../webhook/tls-profile.ts';
import { Guard, type GuardOptions } from './guard.ts';
import { SettingsFollower, type SettingsFollowerOptions } from './settings-follower.ts';
import { TlsProfileFollower } from './tls-profile-follower.ts';

export interface RunGuardOptions extends Pick<
  GuardOptions,
  'api' | 'log' | 'bindAddress' | 'securePort' | 'healthPort' | 'metricsPort' | 'shutdownDelayMs'
> {
  /** Resolves with a certificate that is followed until the signal aborts. */
  readonly loadCertificate: (signal: AbortSignal) => Promise<ServingCertificate>;
  readonly initialSpec: NonNullable<SettingsFollowerOptions['initialSpec']>;
  /** Undefined follows the TLS profile of the cluster. */
  readonly tlsParameters: TlsParameters | undefined;
  /** The default is the namespace of the pod. */
  readonly leaseNamespace: string | undefined;
}

/**
 * Runs a guard that follows its settings, its certificate and the TLS profile of the cluster, until it has stopped.
 *
 * @param stopSignal resolves when the guard must stop
 * @throws what `loadCertificate` throws, or the system's error if a port cannot be used
 */
export async function runGuard(
  { loadCertificate, initialSpec, tlsParameters, leaseNamespace, ...options }: RunGuardOptions,
  stopSignal: Promise<unknown>,
): Promise<void> {
  const { api, log } = options;
  // A stopping guard needs its settings and its certificate until its last answer.
  const followers = new AbortController();
  const { signal } = followers;
  try {
    const certificate = await Promise.race([loadCertificate(signal), stopSignal.then(() => undefined)]);
    // Stopped before the certificate was available.
    if (certificate === undefined) return;
    const settings = new SettingsFollower({ api, log, initialSpec });
    void settings.run(signal);
    const tlsProfile = tlsParameters === undefined ? new TlsProfileFollower({ api, log }) : undefined;
    void tlsProfile?.run(signal);
    const podNamespace = await readPodNamespace();
    const guard = new Guard({
      ...options,
      certificate,
      settings,
      status: {
        leaseNamespace: leaseNamespace ?? podNamespace ?? INSTALLED_NAME,
        // In a pod, the hostname is the name of the pod, or on the host network that of the node. A restarted container
        // has the same one, so it need not wait for the Lease.
        leaseHolder: podNamespace === undefined ? `${hostname()}_${randomUUID()}` : hostname(),
        tlsProfile: tlsProfile && (() => tlsProfile.followed()),
      },
      tlsPolicy: tlsParameters === undefined ? tlsProfile : new Replaceable(tlsParameters),
    });
    await guard.start();
    const logReady = (): void => log.info(guard.ports, 'ready');
    // Ignores the abort.
    void guard.whenReady(signal).then(logReady, () => {});
    await stopSignal;
    await guard.stop();
  } finally {
    followers.abort();
  }
}

/** Returns undefined outside of a pod. */
async function readPodNamespace(): Promise<string | undefined> {
  const file = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  return text === '' ? undefined : text;
}
