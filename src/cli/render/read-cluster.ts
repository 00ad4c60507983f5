import { type Authority, checkAuthority } from '../../certificates/authority.ts';
import { readObject } from '../../inspect/cluster-access.ts';
import { readKubernetesVersion } from '../../inspect/cluster-version.ts';
import { type KubernetesVersion, parseKubernetesVersion } from '../../install/kubernetes-version.ts';
import {
  AUTHORITY_SECRET_PATH,
  INSTALLED_NAME,
  objectPath,
  WEBHOOK_CONFIGURATIONS_PATH,
} from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { type ClusterFlags, withKubeApi } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';

/** The values of a running cluster that its manifests must fit. */
export interface ClusterValues {
  readonly kubernetesVersion: KubernetesVersion;
  /** Undefined if the cluster has none. */
  readonly authority: Authority | undefined;
}

/** @throws CliError if the cluster is unreachable, too old, or the authority is unusable */
export async function readClusterValues(
  flags: ClusterFlags,
  needsAuthority: boolean,
  now: Date,
): Promise<ClusterValues> {
  return await withKubeApi(flags, 'machineconfig-guard/render', async (api) => ({
    kubernetesVersion: await readVersion(api),
    authority: needsAuthority ? await readAuthority(api, now) : undefined,
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

async function readAuthority(api: KubeApi, now: Date): Promise<Authority | undefined> {
  const secret = await readObject(api, AUTHORITY_SECRET_PATH);
  if (secret === undefined) {
    await assertNoOtherIssuer(api);
    return undefined;
  }
  const { readAuthoritySecret } = await import('../../install/manifest.ts');
  const authority = readAuthoritySecret(secret);
  const check = checkAuthority(authority, now);
  if (check.usable) return authority;
  const message =
    `the authority in the Secret machineconfig-guard-ca cannot be used: ${check.reason}; ` +
    'delete the Secret and render again to create a new authority';
  throw new CliError(message, EXIT_CODE.failure);
}

/** A change of the issuer would make calls fail. */
async function assertNoOtherIssuer(api: KubeApi): Promise<void> {
  const path = objectPath(WEBHOOK_CONFIGURATIONS_PATH, INSTALLED_NAME);
  const configuration = await readObject(api, path);
  if (configuration === undefined) return;
  const { findOtherIssuer } = await import('../../install/rotation.ts');
  const other = findOtherIssuer(configuration);
  if (other === undefined) return;
  const message =
    `${other.issuer} issues the certificates of the installed guard; ` +
    'use --tls service-ca, apply the overlay that you installed with, or uninstall the guard first';
  throw new CliError(message, EXIT_CODE.failure);
}
