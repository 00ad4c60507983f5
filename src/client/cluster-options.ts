import { type Command, Option } from 'commander';
import { removeUnsafe } from '../common/printable-text.ts';
import { INSTALLED_NAME } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { assertNamespaceExists } from './cluster-access.ts';
import { toCliError } from './cluster-error.ts';
import { CliError, EXIT_CODE } from './exit.ts';
import { createEnvOption, createNumberParser, parseDurationOption, parseNamespace } from './option-parsers.ts';

export interface ClusterFlags {
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly context?: string;
  readonly kubeconfig?: string;
  /** Of the guard's own objects. All others have no namespace. */
  readonly namespace?: string;
  /** In milliseconds; 0 sets no limit. */
  readonly requestTimeout?: number;
  readonly v?: number;
}

const HELP_GROUP = 'Cluster flags, also before the command:';
/** At this level kubectl prints its requests, too. */
const REQUEST_VERBOSITY = 6;
const MAX_VERBOSITY = 10;
const parseVerbosity = createNumberParser(0, MAX_VERBOSITY, `Must be a number from 0 to ${MAX_VERBOSITY}.`);

/** Adds kubectl's flags for a cluster. {@link inheritClusterFlags} accepts them before the command, too. */
export function addClusterFlags(command: Command): Command {
  addConnectionFlags(command);
  const options = [
    new Option('--as <user>', 'user to impersonate, such as system:serviceaccount:NAMESPACE:NAME'),
    new Option('--as-group <group>', 'group to impersonate; repeatable').argParser(collect),
    new Option('-n, --namespace <name>', `namespace of the guard (default: ${INSTALLED_NAME})`).argParser(
      parseNamespace,
    ),
    new Option(
      '--request-timeout <duration>',
      'give up on a request after this time; 0 keeps the limits of the command',
    ).argParser(parseDurationOption),
    new Option('-v, --v <level>', `log level; from ${REQUEST_VERBOSITY} on, print each request on stderr`).argParser(
      parseVerbosity,
    ),
  ];
  for (const option of options) command.addOption(option.helpGroup(HELP_GROUP));
  return command;
}

/** Adds the flags that select a cluster. */
export function addConnectionFlags(command: Command): Command {
  const description = 'kubeconfig file (default: $KUBECONFIG, the pod, ~/.kube/config)';
  return command
    .addOption(createEnvOption('--kubeconfig <file>', description).helpGroup(HELP_GROUP))
    .addOption(createEnvOption('--context <name>', 'context of the kubeconfig').helpGroup(HELP_GROUP));
}

/** Applies the flags before the command. A flag after the command wins. */
export function inheritClusterFlags(root: Command, command: Command): void {
  for (const option of root.options) {
    const name = option.attributeName();
    const isOwn = command.options.some((own) => own.attributeName() === name);
    if (!isOwn || root.getOptionValueSource(name) !== 'cli') continue;
    if (command.getOptionValueSource(name) === 'cli') continue;
    command.setOptionValueWithSource(name, root.getOptionValue(name), 'cli');
  }
}

/** The namespace of the guard's Deployment, Lease and Secrets. */
export function getGuardNamespace({ namespace }: ClusterFlags): string {
  return namespace ?? INSTALLED_NAME;
}

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
  const api = await createKubeApi(flags, userAgent);
  try {
    await assertNamespaceExists(api, flags.namespace);
    return await work(api);
  } catch (error) {
    throw toCliError(error, api, flags);
  } finally {
    api.close();
  }
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

function printRequest(summary: string): void {
  process.stderr.write(`${removeUnsafe(summary)}\n`);
}
