import { parse } from 'yaml';
import { accessCluster, isRetryableRead } from '../../client/cluster-access.ts';
import { readWithRetries } from '../../client/poll.ts';
import type { KubeApi } from '../../kube/api.ts';

/** The installer stores its configuration here, and the etcd operator reads the same field. */
const INSTALL_CONFIG_PATH = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';

interface InstallConfig {
  readonly controlPlane?: { readonly replicas?: unknown };
}

/**
 * The wanted number of control plane machines. Undefined if the cluster does not say it, or denies access.
 *
 * @throws ClusterAccessError or TimeoutError if the API server cannot answer now, or the signal's reason
 */
export async function readControlPlaneReplicas(api: KubeApi, signal: AbortSignal): Promise<number | undefined> {
  const path = INSTALL_CONFIG_PATH;
  try {
    const configMap = await readWithRetries(
      (limited) => accessCluster('get', path, limited, () => api.json({ path, signal: limited })),
      signal,
    );
    const { data } = configMap as { data?: Record<string, string> };
    const { controlPlane } = parse(data?.['install-config'] ?? '') as InstallConfig;
    return typeof controlPlane?.replicas === 'number' ? controlPlane.replicas : undefined;
  } catch (error) {
    if (signal.aborted || isRetryableRead(error)) throw error;
    return undefined;
  }
}
