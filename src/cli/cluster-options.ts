import type { Command } from 'commander';
import type { KubeApi } from '../kube/api.ts';
import { toCliError } from './cluster-error.ts';
import { CliError, EXIT_CODE } from './exit.ts';
import { createEnvOption } from './option-parsers.ts';

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function addClusterFlags(command: Command): Command {
  const description = 'kubeconfig file (default: $KUBECONFIG, the pod, ~/.kube/config)';
  return command
    .addOption(createEnvOption('--kubeconfig <file>', description))
    .addOption(createEnvOption('--context <name>', 'context of the kubeconfig'));
}

/** @throws CliError if there is no usable kubeconfig */
export async function createKubeApi(flags: ClusterFlags, userAgent: string): Promise<KubeApi> {
  const [{ loadConnection, KubeconfigError }, { KubeApi }] = await Promise.all([
    import('../kube/connection.ts'),
    import('../kube/api.ts'),
  ]);
  try {
    return new KubeApi(loadConnection(flags), userAgent);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    const hasFlag = flags.kubeconfig !== undefined || flags.context !== undefined;
    throw new CliError(error.message, hasFlag ? EXIT_CODE.usage : EXIT_CODE.clusterAccess);
  }
}

/** Closes the client after `work`. Explains cluster errors as a CliError. */
export async function withKubeApi<T>(
  flags: ClusterFlags,
  userAgent: string,
  work: (api: KubeApi) => Promise<T>,
) {
  const api = await createKubeApi(flags, userAgent);
  try {
    return await work(api);
  } catch (error) {
    throw toCliError(error, api);
  } finally {
    api.close();
  }
}
