import { Command, Option } from 'commander';
import { checkBootstrapConfigs } from './check-bootstrap.ts';
import { checkCluster } from './check-cluster.ts';
import { FileError, formatPath } from '../../files/file-error.ts';
import { chooseCopies } from '../../rendered-config/config-hash.ts';
import { readBootstrapSources, readRenderedConfigs } from '../../rendered-config/rendered-config.ts';
import { toCliError } from '../../client/cluster-error.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createNumberParser, createOutputOption, createParser, toDurationOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { withStopSignal } from '../../client/signals.ts';
import { formatBootstrapNames, formatBootstrapReport } from './format-bootstrap-report.ts';
import { formatCheckReport, formatProblemNames, formatProgress } from './format-report.ts';

interface CheckFlags extends ClusterFlags {
  readonly bootstrapDir?: string;
  readonly manifests?: string;
  readonly split?: string;
  readonly role?: string;
  readonly selector?: string;
  readonly minNodes: number;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly output: 'table' | 'json' | 'name' | 'wide' | 'yaml';
}

/** Kubernetes, "Labels and Selectors". */
const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const parseRole = createParser(LABEL_NAME, 'Must be a role, such as master or worker.');
/** The API server rejects invalid selectors. An empty one would select all nodes. */
const parseSelector = createParser(/\S/, 'Must not be empty; omit it to check all nodes.');
const parseDirectory = createParser(/\S/, 'Must not be empty.');
const parseCount = createNumberParser(1, 999_999, 'Must be a whole number of at least 1.');

export function createCheckCommand(): Command {
  const command = new Command('check')
    .description('Check that every config that nodes and pools reference exists.')
    .option('--role <role>', 'check only nodes with this role, such as master, and their pools', parseRole)
    .option('-l, --selector <labels>', 'check only nodes with these labels, and their pools', parseSelector)
    .option('--min-nodes <n>', 'minimum number of nodes', parseCount, 1)
    .addOption(
      new Option('--bootstrap-dir <dir>', 'check the configs in this directory of the bootstrap host instead')
        .argParser(parseDirectory)
        .conflicts(['role', 'selector', 'minNodes', 'wait', 'timeout']),
    )
    .addOption(
      new Option('--manifests <dir>', "check an installer's directory before the install instead")
        .argParser(parseDirectory)
        .conflicts(['bootstrapDir', 'role', 'selector', 'minNodes', 'wait', 'timeout']),
    )
    .option('--split <dir>', 'with --manifests: write one document per file into this new directory', parseDirectory)
    .option('--wait', 'wait until the result is fine or cannot recover')
    .addOption(toDurationOption(new Option('--timeout <duration>', 'maximum time of --wait'), '30m'))
    .addOption(createOutputOption(['table', 'json', 'name', 'wide', 'yaml']))
    .addHelpText(
      'after',
      `
The result is fine if every node has reported its current and desired config,
every pool has a config in its spec and status, and all these configs exist
and are not being deleted. The status of a pool may be empty for the first 30
minutes if one of its machines is updated or the pool is custom. Node states,
paused pools, rollouts, pending certificate requests and nodes that the Machine
Config Operator does not manage do not count. The command prints repair
commands and never runs them. With -o name it prints the objects that have
problems.
Permissions: list nodes, machineconfigpools and machineconfigs.

With --bootstrap-dir the result is fine if the API has every config that the
bootstrap host (rendezvous host) rendered and that a node, a pool or the
control plane needs. If one is missing, the command compares it with the
config that the cluster rendered: source configs, files, units, arguments.
Permissions: also get machineconfigs.

With --manifests no cluster is needed. The result is fine if nothing in
manifests/ and openshift/ lets the bootstrap host fail or render other configs
than the cluster. --split writes the files anew and checks them. With -o name
the command prints the files that have problems.

Exit codes:
  0  fine
  1  not fine; with --wait: after the timeout, or as soon as waiting cannot help
  2  wrong usage or an unusable file
  3  the API server is unreachable (with --wait: for 30 s) or denies access

Examples:
  machineconfig-guard check
  machineconfig-guard check --role master --min-nodes 2 --wait --timeout 20m
  export KUBECONFIG=/opt/openshift/auth/kubeconfig-loopback
  machineconfig-guard check --bootstrap-dir /etc/mcs/bootstrap
  machineconfig-guard check --manifests cluster/ --split cluster-split/`,
    )
    .action(async (flags: CheckFlags) => {
      const { bootstrapDir, manifests, split } = flags;
      if (manifests !== undefined) {
        const { checkManifests } = await import('./manifests/check-manifests.ts');
        await checkManifests(manifests, flags, command);
      } else if (split !== undefined) throw new CliError('--split needs --manifests', EXIT_CODE.usage);
      else if (bootstrapDir !== undefined) await checkBootstrap(bootstrapDir, flags, command);
      else await check(flags, command);
    });
  return addClusterFlags(command);
}

async function check(flags: CheckFlags, command: Command): Promise<void> {
  const isWaiting = flags.wait === true;
  if (!isWaiting && command.getOptionValueSource('timeout') === 'cli') {
    throw new CliError('--timeout needs --wait', EXIT_CODE.usage);
  }
  const output = new Output(command, flags);
  await withKubeApi(flags, 'machineconfig-guard/check', async (api) => {
    const print = isWaiting ? output.printProgress.bind(output) : () => {};
    const report = await checkCluster(api, {
      selector: toLabelSelector(flags),
      minNodes: flags.minNodes,
      waitMs: isWaiting ? flags.timeout : undefined,
      onReport: (current, elapsedMs) => {
        if (!current.ok) print(formatProgress(current), elapsedMs);
      },
      onFailure: (error, elapsedMs) =>
        print(`${output.describeError(toCliError(error, api, flags))}; retrying`, elapsedMs),
    });
    const isNameOutput = flags.output === 'name';
    output.printReport(
      report,
      isNameOutput ? formatProblemNames(report) : formatCheckReport(output.format, report, isWaiting),
    );
    if (!report.ok) throw new CliError('', EXIT_CODE.failure);
  });
}

async function checkBootstrap(directory: string, flags: CheckFlags, command: Command): Promise<void> {
  const { configs, sources } = await withStopSignal((signal) => readBootstrapDirectory(directory, signal));
  const output = new Output(command, flags);
  await withKubeApi(flags, 'machineconfig-guard/check', async (api) => {
    const report = await checkBootstrapConfigs(api, { directory, configs, sources });
    const isNameOutput = flags.output === 'name';
    output.printReport(
      report,
      isNameOutput ? formatBootstrapNames(report) : formatBootstrapReport(output.format, report),
    );
    if (!report.ok) throw new CliError('', EXIT_CODE.failure);
  });
}

async function readBootstrapDirectory(directory: string, signal: AbortSignal) {
  try {
    const { configs, problems } = await readRenderedConfigs(directory, () => true, signal);
    const [problem] = problems;
    if (problem !== undefined) throw new FileError(problem);
    if (configs.length > 0) {
      return { configs: chooseCopies(configs), sources: await readBootstrapSources(directory, signal) };
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
  }
  const advice = 'on the bootstrap host it is /etc/mcs/bootstrap';
  throw new CliError(`${formatPath(directory)} contains no rendered config; ${advice}`, EXIT_CODE.usage);
}

function toLabelSelector({ role, selector }: CheckFlags): string | undefined {
  const roleTerm = role === undefined ? undefined : `node-role.kubernetes.io/${role}`;
  const terms = [roleTerm, selector].filter((term) => term !== undefined);
  return terms.length === 0 ? undefined : terms.join(',');
}
