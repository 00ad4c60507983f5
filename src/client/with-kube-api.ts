import { removeUnsafe } from './output/safe-text.ts';
import type { KubeApi } from '../kube/api.ts';
import { READ_TIMEOUT_MS } from './cluster-access.ts';
import { toCliError } from './cluster-error.ts';
import { type ClusterFlags, REQUEST_VERBOSITY } from './cluster-options.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/** @throws CliError if there is no usable kubeconfig */
export async function createKubeApi(flags: ClusterFlags, userAgent: string): Promise<KubeApi> {
  if (flags.asGroup !== undefined && flags.as === undefined) {
    throw new CliError('--as-group needs --as', EXIT_CODE.usage);
  }
  const [{ loadConnection }, { KubeApi }] = await Promise.all([import('./kubeconfig.ts'), import('../kube/api.ts')]);
  const { requestTimeout = 0, v: verbosity = 0 } = flags;
  return new KubeApi(loadConnection(flags), userAgent, {
    requestTimeoutMs: requestTimeout === 0 ? undefined : requestTimeout,
    onRequest: verbosity < REQUEST_VERBOSITY ? undefined : printRequest,
  });
}

/** Closes the client after `work`. Explains cluster errors as a CliError. */
export async function withKubeApi<T>(flags: ClusterFlags, userAgent: string, work: (api: KubeApi) => Promise<T>) {
  const api = await createKubeApi({ ...flags, requestTimeout: flags.requestTimeout || READ_TIMEOUT_MS }, userAgent);
  try {
    return await work(api);
  } catch (error) {
    throw toCliError(error, api, flags);
  } finally {
    api.close();
  }
}

function printRequest(summary: string): void {
  process.stderr.write(`${removeUnsafe(summary)}\n`);
}
