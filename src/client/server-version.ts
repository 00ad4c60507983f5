import { parseKubernetesVersion } from '../install/kubernetes-version.ts';
import type { KubeApi } from '../kube/api.ts';
import { readObject } from './cluster-access.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/**
 * The version of Kubernetes: the number after `1.`.
 * @throws CliError if the guard does not support it, ClusterAccessError, or the signal's reason
 */
export async function readVersion(api: KubeApi, signal?: AbortSignal): Promise<number> {
  const { gitVersion = '' } =
    (await readObject<{ readonly gitVersion?: string }>(api, '/version', 'get', signal)) ?? {};
  try {
    return parseKubernetesVersion(gitVersion);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = `the API server at ${api.address} has version ${JSON.stringify(gitVersion)}: ${error.message}`;
    throw new CliError(message, EXIT_CODE.failure, { cause: error });
  }
}
