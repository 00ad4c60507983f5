import { Command } from 'commander';
import { hasAnswered } from '../../client/cluster-access.ts';
import { describeRetry } from '../../client/cluster-error.ts';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE, ReportedFailure } from '../../client/exit.ts';
import {
  createOutputOption,
  createParser,
  createTimeoutOption,
  parseCount,
  rejectRepetition,
} from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { quote } from '../../diagnosis/quote.ts';
import { createBootstrapCommand } from './bootstrap-command.ts';
import { checkCluster, type CheckOptions } from './check-cluster.ts';
import { formatCheckReport, formatProblemNames, formatProgress } from './format-report.ts';
import { createManifestsCommand } from './manifests-command.ts';

interface CheckFlags extends ReportFlags {
  readonly role?: string;
  readonly selector?: string;
  readonly minNodes?: number;
  readonly wait?: boolean;
  readonly timeout: number;
}

const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const parseRole = rejectRepetition(createParser(LABEL_NAME, 'Must be a role, such as master or worker.'));
/** The API server rejects invalid selectors. An empty one would select all nodes. */
const parseSelector = rejectRepetition(createParser(/\S/, 'Must not be empty; omit it to check all nodes.'));

export function createCheckCommand(): Command {
  const command = new Command('check')
    .description('Find missing configs, and why a node or a pool does not move.')
    .addCommand(createManifestsCommand())
    .addCommand(createBootstrapCommand())
    .option('--role <role>', 'check only nodes with this role, such as master, and their pools', parseRole)
    .option('-l, --selector <labels>', 'check only nodes with these labels, and their pools', parseSelector)
    .option(
      '--min-nodes <n>',
      'minimum number of nodes (default: 1, and the control plane of the install-config)',
      parseCount,
    )
    .option('--wait', 'wait until the result is fine or cannot recover')
    .addOption(createTimeoutOption('30m'))
    .addOption(createOutputOption(true))
    .addHelpText(
      'after',
      `
The result is fine if all configs exist that nodes, pools and builds name, and
if nothing stands still: no node or pool is Degraded, and no roll-out waits for
a cordoned, lost or blocked node. The status of a new pool may be empty if one
of its machines is updated or the pool is custom. The command prints the cause
and what to do, and never does it. Of more than 20 nodes or pools, equal rows of
the table are combined; -o wide lists all.
Permissions: list nodes, machineconfigpools and machineconfigs. The ClusterRole
machineconfig-guard-reader has the others. The output says what is missing.

Exit codes:
  0  fine
  1  not fine; with --wait: after the timeout, or as soon as waiting cannot help
  2  wrong usage or an unusable file
  3  the API server is unreachable (with --wait: for 30 s) or denies access

Examples:
  machineconfig-guard check
  machineconfig-guard check --role master --min-nodes 2 --wait --timeout 20m
  machineconfig-guard check manifests cluster/
  machineconfig-guard check bootstrap /etc/mcs/bootstrap`,
    )
    .action(async (flags: CheckFlags) => {
      const output = new Output(command, flags);
      const { wait = false } = flags;
      const check = await runCheck(flags, output);
      const { report } = check;
      const table = formatCheckReport(output.format, check, wait);
      output.printReport(report, flags.output === 'name' ? formatProblemNames(report) : table);
      if (!report.ok) throw new ReportedFailure();
    });
  return addClusterFlags(command);
}

async function runCheck(flags: CheckFlags, output: Output) {
  const { role, minNodes, wait = false } = flags;
  return await withKubeApi(flags, { name: 'check', role: 'reader', output }, async (api) => {
    const progress: CheckOptions['wait'] = {
      timeoutMs: flags.timeout,
      onAnswer: (check, elapsedMs) => check.report.ok || output.printProgress(formatProgress(check), elapsedMs),
      onFailure: (error, elapsedMs) => output.printProgress(describeRetry(error, api), elapsedMs),
    };
    const roleLabel = role && `node-role.kubernetes.io/${role}`;
    const selector = [roleLabel, flags.selector].filter(Boolean).join(',') || undefined;
    const hasControlPlane = flags.selector === undefined && (role ?? 'master') === 'master';
    try {
      return await checkCluster(api, { selector, minNodes, hasControlPlane, wait: wait ? progress : undefined });
    } catch (error) {
      throw selector === undefined ? error : explainSelectorError(error);
    }
  });
}

/** Only the list of the nodes has the selector of the flags. */
function explainSelectorError(error: unknown): unknown {
  if (!hasAnswered(error) || error.cause.status !== 400 || error.access.resource !== 'nodes') return error;
  const reason = quote(error.cause.message);
  return new CliError(`invalid label selector (--role, --selector): ${reason}`, EXIT_CODE.usage, { cause: error });
}
