import { type Authority, checkAuthority } from '../../certificates/authority.ts';
import { readKubernetesVersion, readObject } from '../../client/cluster-access.ts';
import { type KubernetesVersion, parseKubernetesVersion } from '../../install/kubernetes-version.ts';
import { findInjector, type Injector, type StoredWebhookConfiguration } from '../../install/webhook-configuration.ts';
import {
  AUTHORITY_SECRET_PATH,
  INSTALLED_NAME,
  objectPath,
  WEBHOOK_CONFIGURATIONS_PATH,
} from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';

const ISSUERS: Readonly<Record<Injector, string>> = {
  'service-ca': "OpenShift's service CA",
  'cert-manager': 'cert-manager',
};

/** The values of a running cluster that its manifests must fit. */
export interface ClusterValues {
  readonly kubernetesVersion: KubernetesVersion;
  /** Undefined if the cluster has none. If a new one replaces it, also if it is unusable. */
  readonly authority: Authority | undefined;
}

interface ReadFlags extends ClusterFlags {
  readonly tls: 'generated' | 'service-ca';
  readonly newAuthority?: boolean;
}

/** @throws CliError if the cluster is unreachable, too old, or the authority is unusable */
export async function readClusterValues(flags: ReadFlags, now: Date): Promise<ClusterValues> {
  const { tls, newAuthority = false } = flags;
  return await withKubeApi(flags, 'machineconfig-guard/render', async (api) => ({
    kubernetesVersion: await readVersion(api),
    authority: tls === 'generated' ? await readAuthority(api, newAuthority, now) : undefined,
  }));
}

async function readVersion(api: KubeApi): Promise<KubernetesVersion> {
  const version = (await readKubernetesVersion(api)) ?? '';
  try {
    return parseKubernetesVersion(version);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = `the API server at ${api.address} has version ${JSON.stringify(version)}: ${error.message}`;
    throw new CliError(message, EXIT_CODE.failure, { cause: error });
  }
}

async function readAuthority(api: KubeApi, isReplaced: boolean, now: Date): Promise<Authority | undefined> {
  const secret = await readObject(api, AUTHORITY_SECRET_PATH);
  if (secret === undefined) {
    await assertNoOtherIssuer(api);
    return undefined;
  }
  const { readAuthoritySecret } = await import('../../install/manifest.ts');
  const authority = readAuthoritySecret(secret);
  const check = checkAuthority(authority, now);
  if (check.usable) return authority;
  if (isReplaced) return undefined;
  const message =
    `the authority in the Secret machineconfig-guard-ca cannot be used: ${check.reason}; ` +
    'create a new authority with --new-authority';
  throw new CliError(message, EXIT_CODE.failure);
}

/** A change of the issuer would make calls fail. */
async function assertNoOtherIssuer(api: KubeApi): Promise<void> {
  const path = objectPath(WEBHOOK_CONFIGURATIONS_PATH, INSTALLED_NAME);
  const configuration = await readObject(api, path);
  if (configuration === undefined) return;
  const injector = findInjector(configuration as StoredWebhookConfiguration);
  if (injector === undefined) return;
  const message =
    `${ISSUERS[injector]} issues the certificates of the installed guard; ` +
    'use --tls service-ca, apply the overlay that you installed with, or uninstall the guard first';
  throw new CliError(message, EXIT_CODE.failure);
}
