import type { Command } from 'commander';
import type { KubeApi } from '../kube/api.ts';
import { READ_TIMEOUT_MS } from './cluster-access.ts';
import { type CommandRole, toCliError } from './cluster-error.ts';
import { CliError, EXIT_CODE } from './exit.ts';
import type { RepeatedFlags } from './output/advice.ts';
import type { Output } from './output/output.ts';
import { parseDurationOption, parseText } from './option-parsers.ts';

export interface ClusterFlags extends RepeatedFlags {
  readonly as?: string;
  /** In milliseconds; 0 sets no limit. */
  readonly requestTimeout?: number;
}

/** Of a command that prints a report. */
export interface ReportFlags extends ClusterFlags {
  readonly output: string;
}

/**
 * Adds kubectl's flags for a cluster. {@link inheritFlags} accepts them before the command, too. Without
 * `--namespace`, because the manifests have one namespace and all other objects have none.
 */
export function addClusterFlags(command: Command): Command {
  const timeout = 'give up on a request after this time, such as 5 or 5s; 0 keeps the default';
  return addConnectionFlags(command)
    .option('--as <user>', 'user to impersonate, such as system:serviceaccount:NAMESPACE:NAME', parseText)
    .option('--request-timeout <duration>', timeout, parseDurationOption);
}

export function addConnectionFlags(command: Command): Command {
  return command
    .optionsGroup('Cluster flags, also before the command:')
    .option('--kubeconfig <file>', 'kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod)', parseText)
    .option('--context <name>', 'context of the kubeconfig', parseText);
}

/**
 * Applies the flags before a command or a subcommand. A flag after it wins. A command that reads no cluster ignores the
 * cluster flags of the program, because they can be part of a shell alias.
 * @throws CliError for a flag of `check` that its subcommand lacks
 */
export function inheritFlags(command: Command): void {
  for (let parent = command.parent; parent !== null; parent = parent.parent) {
    for (const option of parent.options) {
      const name = option.attributeName();
      if (parent.getOptionValueSource(name) !== 'cli' || command.getOptionValueSource(name) === 'cli') continue;
      const isKnown = command.options.some((own) => own.attributeName() === name);
      if (!isKnown && parent.parent !== null)
        throw new CliError(
          `--${option.name()} is a flag of ${parent.name()}, not of ${command.name()}`,
          EXIT_CODE.usage,
        );
      command.setOptionValueWithSource(name, parent.getOptionValue(name), 'cli');
    }
  }
}

/** @throws CliError if there is no usable kubeconfig */
export async function createKubeApi(flags: ClusterFlags, userAgent: string, onSilence?: () => void): Promise<KubeApi> {
  const [{ loadConnection }, { KubeApi }] = await Promise.all([import('./kubeconfig.ts'), import('../kube/api.ts')]);
  return new KubeApi(loadConnection(flags), userAgent, flags.requestTimeout || undefined, onSilence);
}

/**
 * @param command its name is in the audit log, its role in the advice of an error, and its output says that the command
 *   waits for the API server
 */
export async function withKubeApi<T>(
  flags: ClusterFlags,
  command: { readonly name: string; readonly role?: CommandRole; readonly output: Output },
  work: (api: KubeApi) => Promise<T>,
): Promise<T> {
  const requestTimeout = flags.requestTimeout || READ_TIMEOUT_MS;
  const startedAt = performance.now();
  let isReported = false;
  const onSilence = (): void => {
    if (isReported) return;
    isReported = true;
    const { isLoggingIn } = api.connection;
    const target = isLoggingIn ? 'the exec command of the kubeconfig' : `the API server at ${api.address}`;
    command.output.printProgress(`waiting for ${target}`, performance.now() - startedAt);
  };
  const api = await createKubeApi({ ...flags, requestTimeout }, `machineconfig-guard/${command.name}`, onSilence);
  try {
    return await work(api);
  } catch (error) {
    throw toCliError(error, api, command.role);
  } finally {
    api.close();
  }
}
