import { type Authority, checkAuthority } from '../../certificates/authority.ts';
import { readKubernetesVersion, readObject } from '../../client/cluster-access.ts';
import { type ClusterFlags } from '../../client/cluster-options.ts';
import { withKubeApi } from '../../client/with-kube-api.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { type KubernetesVersion, parseKubernetesVersion } from '../../install/kubernetes-version.ts';
import { readAuthoritySecret } from '../../install/manifest.ts';
import { AUTHORITY_SECRET_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';

interface ReadFlags extends ClusterFlags {
  readonly tls: 'generated' | 'service-ca';
  readonly newAuthority?: boolean;
}

/**
 * Reads what the manifests of a running cluster must fit.
 *
 * @throws CliError if the cluster is unreachable, too old, or the authority is unusable
 */
export async function readClusterValues(flags: ReadFlags, now: Date) {
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

/** Undefined if the cluster has none. If a new one replaces it, also if it is unusable. */
async function readAuthority(api: KubeApi, isReplaced: boolean, now: Date): Promise<Authority | undefined> {
  const secret = await readObject(api, AUTHORITY_SECRET_PATH);
  if (secret === undefined) return undefined;
  const authority = readAuthoritySecret(secret);
  const check = checkAuthority(authority, now);
  if (check.usable) return authority;
  if (isReplaced) return undefined;
  const message =
    `the authority in the Secret machineconfig-guard-ca cannot be used: ${check.reason}; ` +
    'create a new authority with --new-authority';
  throw new CliError(message, EXIT_CODE.failure);
}
