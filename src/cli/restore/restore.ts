import { Argument, Command, Option } from 'commander';
import { type ConfigName, parsePoolName } from '../../decision/config-name.ts';
import { readMissingNames } from '../../client/cluster-reader.ts';
import { readWithRetries } from '../../client/poll.ts';
import { resolveConfigName } from '../../client/resolve-name.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { RestoreReport } from './restore-report.ts';
import { restore } from './restore-run.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import {
  createNumberParser,
  createOutputOption,
  createParser,
  parseConfigName,
  toDurationOption,
} from '../../client/option-parsers.ts';
import type { Advice } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { withStopSignal } from '../../client/signals.ts';
import { formatRestoreReport } from './format-report.ts';
import { readSources } from './read-source.ts';

interface RestoreFlags extends ClusterFlags {
  readonly acceptContent?: boolean;
  readonly confirm?: boolean;
  readonly controlPlaneReplicas?: number;
  readonly from: readonly string[];
  readonly timeout: number;
  readonly output: 'text' | 'json' | 'yaml';
}

const parseSource = createParser(/^(?!nodes?\/\s*$).*\S/, 'Must be a file, a directory, an archive, - or node/NAME.');
const parseReplicas = createNumberParser(1, 99, 'Must be a whole number of at least 1.');

export function createRestoreCommand(): Command {
  const command = new Command('restore')
    .description('Create a missing config again, and end the deadlock of its pool.')
    .addArgument(new Argument('[config]', 'name of the missing MachineConfig, or its unambiguous beginning'))
    .option('--accept-content', 'create the config even if its content does not match the hash in its name')
    .option('--confirm', 'write; without it, only send dry runs and print the plan')
    .option(
      '--control-plane-replicas <n>',
      'machines of the control plane (default: from the install-config in the cluster)',
      parseReplicas,
    )
    .addOption(
      new Option('--from <source>', 'file, directory, tar archive, - for standard input, or node/NAME')
        .argParser((value, others?: readonly string[]) => [...(others ?? []), parseSource(value)])
        .makeOptionMandatory(),
    )
    .addOption(toDurationOption(new Option('--timeout <duration>', 'maximum time of all steps'), '30m'))
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
The source is a MachineConfig as JSON or YAML, or a directory or tar archive of
them, such as /etc/mcs/bootstrap of the bootstrap host or a must-gather. Of a
directory, the command restores every missing config that a node or a pool
names. node/NAME reads the disk of a node with its machine-config-daemon pod.
If copies of a config differ, the one that matches its name counts; repeat
--from to compare copies.

Steps: pause the pool if machines are missing or its status is empty; create
the config; set the pool's status, from which new machines get their config;
wait until the missing machines have joined; unpause the pool; wait 2 minutes
until the nodes of the config leave Degraded. Run the same command again to
continue after an interruption. The command changes no node and approves no
certificate request.
Permissions: apply the overlay restore-role and bind its ClusterRoles.

Exit codes:
  0  restored, or the config exists; without --confirm: it can be restored
  1  rejected, incomplete, or nodes stay Degraded: the output says what to do
  2  wrong usage or an unusable file; nothing was changed
  3  the API server is unreachable or denies access
  130  interrupted; the output says whether a pool stays paused

Examples:
  machineconfig-guard restore --from node/control1.example.com
  machineconfig-guard restore --from /etc/mcs/bootstrap --confirm
  machineconfig-guard restore --from must-gather.tar.gz
  oc debug node/control1 -- chroot /host \\
    cat /etc/mcs-machine-config-content.json |
    machineconfig-guard restore --from - --confirm`,
    )
    .action(async (name: string | undefined, flags: RestoreFlags) => {
      const config = name === undefined ? undefined : parseConfigName(name);
      await withKubeApi(flags, 'machineconfig-guard/restore', async (api) => {
        await withStopSignal((signal) => runRestore(command, api, config, flags, signal));
      });
    });
  return addClusterFlags(command);
}

/** Completes the beginning of the name. A full name needs no list. */
async function resolveName(
  api: KubeApi,
  name: ConfigName | undefined,
  signal: AbortSignal,
): Promise<ConfigName | undefined> {
  if (name === undefined || parsePoolName(name) !== undefined) return name;
  const missing = await readWithRetries(async (limited) => await readMissingNames(api, limited), signal);
  return resolveConfigName(name, missing);
}

async function runRestore(
  command: Command,
  api: KubeApi,
  givenName: ConfigName | undefined,
  flags: RestoreFlags,
  signal: AbortSignal,
): Promise<void> {
  const output = new Output(command, flags);
  const onProgress = (text: string, elapsedMs: number, advice?: Advice): void => {
    const next = advice === undefined ? '' : `; ${output.format.commands.toClause(advice)}`;
    output.printProgress(`${text}${next}`, elapsedMs);
  };
  let report: RestoreReport;
  try {
    const name = await resolveName(api, givenName, signal);
    const { configs, problems } = await readSources(api, flags.from, name, signal);
    for (const problem of problems) onProgress(`skipped: ${problem}`, 0);
    report = await restore(api, {
      configs,
      name,
      isConfirmed: flags.confirm === true,
      acceptContent: flags.acceptContent === true,
      timeoutMs: flags.timeout,
      controlPlaneReplicas: flags.controlPlaneReplicas,
      onProgress,
      signal,
    });
  } catch (error) {
    // After its first write, restore returns a report.
    if (signal.aborted) throw new CliError('interrupted; nothing was written', EXIT_CODE.interrupted);
    throw error;
  }
  output.printReport(report, formatRestoreReport(output.format, report));
  if (!report.ok) throw new CliError('', signal.aborted ? EXIT_CODE.interrupted : EXIT_CODE.failure);
}
