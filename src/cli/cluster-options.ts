import { type Command, Option } from 'commander';
import type { ClusterApi } from '../cluster/api.ts';
import { CliError, EXIT } from './exit.ts';

/** The flags of every command that talks to a cluster. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Adds `--kubeconfig` and `--context`. */
export function withClusterFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--kubeconfig <file>', 'kubeconfig to use (default: KUBECONFIG, the pod, ~/.kube/config)').env(
        'MCG_KUBECONFIG',
      ),
    )
    .addOption(new Option('--context <name>', 'context in the kubeconfig').env('MCG_CONTEXT'));
}

/** The API of the cluster that the flags name. Throws a CliError in one sentence where there is none. */
export async function clusterApi(flags: ClusterFlags, userAgent: string): Promise<ClusterApi> {
  // The client library takes half a second to load, which `--help` should not cost.
  const [{ loadConnection, NoConnection }, { ClusterApi }] = await Promise.all([
    import('../cluster/connection.ts'),
    import('../cluster/api.ts'),
  ]);
  try {
    return new ClusterApi(loadConnection(flags), userAgent);
  } catch (error) {
    if (!(error instanceof NoConnection)) throw error;
    // A file that was named and cannot be used is wrong usage; no cluster at all is not.
    const named = flags.kubeconfig !== undefined || flags.context !== undefined;
    throw new CliError(error.message, named ? EXIT.usage : EXIT.cluster);
  }
}
