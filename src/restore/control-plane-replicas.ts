import { parse } from 'yaml';
import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../kube/wait.ts';

/** The installer stores its configuration here, and the etcd operator reads the same field. */
const INSTALL_CONFIG_PATH = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';
const READ_TIMEOUT_MS = 5_000;

interface InstallConfig {
  readonly controlPlane?: { readonly replicas?: unknown };
}

/** The wanted number of control plane machines. Undefined if the cluster does not say it. Never rejects. */
export async function readControlPlaneReplicas(api: KubeApi, signal: AbortSignal): Promise<number | undefined> {
  try {
    const read = async (limited: AbortSignal) => await api.json({ path: INSTALL_CONFIG_PATH, signal: limited });
    const { data } = (await withTimeout(READ_TIMEOUT_MS, signal, read)) as { data?: Record<string, string> };
    const { controlPlane } = parse(data?.['install-config'] ?? '') as InstallConfig;
    return typeof controlPlane?.replicas === 'number' ? controlPlane.replicas : undefined;
  } catch {
    return undefined;
  }
}
