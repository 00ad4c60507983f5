import { parse } from 'yaml';
import { accessCluster, isRetryableRead } from '../inspect/cluster-access.ts';
import { readWithRetries } from '../inspect/poll.ts';
import type { KubeApi } from '../kube/api.ts';

/** The installer stores its configuration here, and the etcd operator reads the same field. */
const INSTALL_CONFIG_PATH = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';

interface InstallConfig {
  readonly controlPlane?: { readonly replicas?: unknown };
}

/**
 * The wanted number of control plane machines. Undefined if the cluster does not say it, or denies access.
 *
 * @throws ClusterAccessError or TimeoutError if the API server cannot answer now
 */
export async function readControlPlaneReplicas(api: KubeApi): Promise<number | undefined> {
  const path = INSTALL_CONFIG_PATH;
  try {
    const configMap = await readWithRetries((signal) =>
      accessCluster('get', path, signal, () => api.json({ path, signal })),
    );
    const { data } = configMap as { data?: Record<string, string> };
    const { controlPlane } = parse(data?.['install-config'] ?? '') as InstallConfig;
    return typeof controlPlane?.replicas === 'number' ? controlPlane.replicas : undefined;
  } catch (error) {
    if (isRetryableRead(error)) throw error;
    return undefined;
  }
}
