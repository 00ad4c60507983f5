import { type Command, Option } from 'commander';
import type { KubeApi } from '../kube/api.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/** The flags of every command that talks to a cluster. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Adds `--kubeconfig` and `--context`. */
export function addClusterFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--kubeconfig <file>', 'kubeconfig to use (default: KUBECONFIG, the pod, ~/.kube/config)').env(
        'MCG_KUBECONFIG',
      ),
    )
    .addOption(new Option('--context <name>', 'context in the kubeconfig').env('MCG_CONTEXT'));
}

/** The API of the cluster that the flags name. Throws a CliError in one sentence where there is none. */
export async function createKubeApi(flags: ClusterFlags, userAgent: string): Promise<KubeApi> {
  // The client library takes half a second to load, which `--help` should not cost.
  const [{ loadConnection, KubeconfigError }, { KubeApi }] = await Promise.all([
    import('../kube/connection.ts'),
    import('../kube/api.ts'),
  ]);
  try {
    return new KubeApi(loadConnection(flags), userAgent);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    // A file that was named and cannot be used is wrong usage; no cluster at all is not.
    const named = flags.kubeconfig !== undefined || flags.context !== undefined;
    throw new CliError(error.message, named ? EXIT_CODE.usage : EXIT_CODE.cluster);
  }
}
