import type { KubeApi } from '../kube/api.ts';
import { readObject } from './cluster-access.ts';

/**
 * Returns the version of Kubernetes, such as `v1.31.1`, or null if it is unknown.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readKubernetesVersion(api: KubeApi): Promise<string | null> {
  const server = (await readObject(api, '/version')) as { readonly gitVersion?: unknown } | undefined;
  return typeof server?.gitVersion === 'string' ? server.gitVersion : null;
}
