import type { KubeApi } from '../kube/api.ts';
import { READ_TIMEOUT_MS } from './cluster-access.ts';
import { toCliError } from './cluster-error.ts';
import type { ClusterFlags } from './cluster-options.ts';

/** @throws CliError if there is no usable kubeconfig */
export async function createKubeApi(flags: ClusterFlags, userAgent: string): Promise<KubeApi> {
  const [{ loadConnection }, { KubeApi }] = await Promise.all([import('./kubeconfig.ts'), import('../kube/api.ts')]);
  return new KubeApi(loadConnection(flags), userAgent, flags.requestTimeout || undefined);
}

export async function withKubeApi<T>(flags: ClusterFlags, userAgent: string, work: (api: KubeApi) => Promise<T>) {
  const api = await createKubeApi({ ...flags, requestTimeout: flags.requestTimeout || READ_TIMEOUT_MS }, userAgent);
  try {
    return await work(api);
  } catch (error) {
    throw toCliError(error, api);
  } finally {
    api.close();
  }
}
