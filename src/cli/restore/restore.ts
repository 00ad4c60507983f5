import { Command, Option } from 'commander';
import type { ClusterSnapshot } from '../../diagnosis/cluster-snapshot.ts';
import { type ConfigDifference, formatDifferences } from '../../client/config-differences.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { readWithRetries } from '../../client/poll.ts';
import {
  collect,
  createOutputOption,
  createParser,
  createNumberParser,
  parseConfigName,
  resolveConfigName,
  toDurationOption,
} from '../../client/option-parsers.ts';
import type { KubeApi } from '../../kube/api.ts';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { withStopSignal } from '../../client/signals.ts';
import {
  applyStyle,
  formatNext,
  indent,
  type ReportFormat,
  type Style,
  wrapBeside,
  wrapParagraph,
} from '../../client/output/text-format.ts';
import { joinWithAnd } from '../../common/printable-text.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import { isOnNode, readSources, type SourceConfigs } from './read-sources.ts';
import { formatSteps, throwUnlessOk } from '../steps/step-run.ts';
import { type ConfigReport, restore, type RestoreReport } from './restore-run.ts';
import { listMissingNames, listReferencedNames } from './restore-steps.ts';
import { type ConfigName, formatName, parsePoolName, toConfigName } from '../../mco/machine-config.ts';

const MAX_DIFFERENCES = 20;

interface RestoreFlags extends ReportFlags {
  readonly acceptContent?: boolean;
  readonly confirm?: boolean;
  readonly controlPlaneReplicas?: number;
  readonly from?: readonly string[];
  readonly timeout: number;
}

const parseSource = createParser(/^(?!nodes?\/\s*$).*\S/, 'Must be a file, a directory, - or node/NAME.');
const parseReplicas = createNumberParser(1, 99, 'Must be a whole number of at least 1.');

export function createRestoreCommand(): Command {
  const command = new Command('restore')
    .description('Create a missing config again, and end the deadlock of its pool.')
    .argument('[config]', 'name of the missing MachineConfig, or its unambiguous beginning')
    .option(
      '--accept-content',
      'create the config even if its content does not match the hash in its name; nodes then run it',
    )
    .option('--confirm', 'write; without it, only send dry runs and print the plan')
    .option(
      '--control-plane-replicas <n>',
      'number of control-plane machines (default: from the install-config in the cluster)',
      parseReplicas,
    )
    .option('--from <source>', 'file, directory, - for standard input, or node/NAME', collect(parseSource))
    .addOption(toDurationOption(new Option('--timeout <duration>', 'maximum time of all steps'), '30m'))
    .addOption(createOutputOption())
    .addHelpText(
      'after',
      `
The source is a MachineConfig as JSON or YAML, a List of them, or a directory,
such as /etc/mcs/bootstrap of the bootstrap host or a must-gather. Of a List or
a directory, the command restores every missing config that a node or a pool
names, and exits with 1 if one has no copy.
node/NAME reads the disk of a node with its machine-config-daemon pod.
If copies of a config differ, the one that matches its name counts; repeat
--from to compare copies.

Steps: pause the pool if machines are missing or its status is empty; create
the config; set the pool's status, from which new machines get their config;
wait until the missing machines have joined; unpause the pool; wait 2 minutes
until the nodes of the config leave Degraded. Run the same command again to
continue after an interruption, without --from once the config exists. The
command changes no node and approves no certificate request.
Permissions: apply the overlay restore-role and bind its ClusterRoles.

Exit codes:
  0    restored, or the config exists; without --confirm: it can be restored
  1    rejected, incomplete, or nodes stay Degraded: the output says what to do
  2    wrong usage or an unusable file; nothing was changed
  3    the API server is unreachable or denies access
  130  interrupted; the output says whether a pool stays paused

Examples:
  machineconfig-guard restore --from node/control1.example.com
  machineconfig-guard restore --from /etc/mcs/bootstrap --confirm
  machineconfig-guard restore --from must-gather/
  oc debug node/control1 -- chroot /host \\
    cat /etc/mcs-machine-config-content.json |
    machineconfig-guard restore --from - --confirm`,
    )
    .action(async (name: string | undefined, flags: RestoreFlags) => {
      const config = name === undefined ? undefined : parseConfigName(name);
      const output = new Output(command, flags);
      await withKubeApi(flags, { name: 'restore', role: 'restore', output }, async (api) => {
        const run = (signal: AbortSignal) => runRestore(output, api, config, flags, signal);
        const { report, failure } = await withStopSignal(run, 'interrupted; nothing was written');
        output.printReport(report, formatRestoreReport(output.format, report));
        throwUnlessOk(report, failure);
      });
    });
  return addClusterFlags(command);
}

/** After its first dry run, it returns a report at every end. */
async function runRestore(
  output: Output,
  api: KubeApi,
  givenName: ConfigName | undefined,
  flags: RestoreFlags,
  signal: AbortSignal,
) {
  const { from, confirm: isConfirmed = false } = flags;
  const snapshot = await readWithRetries((limited) => readClusterSnapshot(api, undefined, limited), signal);
  const name = givenName && resolveName(givenName, snapshot);
  // A node can lack the config that it no longer needs.
  const isStarted = name !== undefined && snapshot.configs.has(name) && from?.every(isOnNode) === true;
  const {
    configs,
    isCollection,
    problems = [],
  }: SourceConfigs = from === undefined || isStarted
    ? { configs: [findStarted(name, snapshot)], isCollection: false }
    : await readSources(from, { api, snapshot, name, isConfirmed, signal });
  for (const problem of problems) output.printProgress(`skipped: ${problem}`, 0);
  const hasCopy = (missing: ConfigName): boolean => configs.some((config) => config.name === missing);
  const isWhole = isCollection && name === undefined;
  const { timeout: timeoutMs } = flags;
  return await restore(api, {
    ...flags,
    configs,
    source: from?.join(', ') ?? '',
    withoutCopy: isWhole ? listMissingNames(snapshot).filter((missing) => !hasCopy(missing)) : [],
    name,
    isConfirmed,
    timeoutMs,
    role: 'restore',
    onProgress: output.printProgress,
    signal,
  });
}

/** A config that a restore has created needs no content. @throws CliError if it does not exist */
function findStarted(name: ConfigName | undefined, { configs }: ClusterSnapshot): RenderedConfig {
  if (name !== undefined && configs.has(name))
    return { name, origins: [{ type: 'api', label: 'the API' }], apiVersion: '', annotations: {}, spec: {} };
  const advice = advise('see which node has a copy', shell`machineconfig-guard check`);
  throw new CliError("required option '--from <source>' not specified", EXIT_CODE.usage, { advice });
}

/** A second run resolves a name like the first one, although the config is no longer missing. */
function resolveName(name: ConfigName, snapshot: ClusterSnapshot): ConfigName {
  if (parsePoolName(name) !== undefined) return name;
  const paused = snapshot.pools.flatMap(({ pausedFor }) => (pausedFor === undefined ? [] : toConfigName(pausedFor)));
  const resolved = resolveConfigName(name, [...listMissingNames(snapshot), ...paused]);
  return resolved === name ? resolveConfigName(name, listReferencedNames(snapshot)) : resolved;
}

function formatRestoreReport(format: ReportFormat, report: RestoreReport): string {
  const parts = report.configs.map((config) => formatConfig(format, config));
  const [style, conclusion] = formatConclusion(report);
  parts.push(applyStyle(format, style, wrapParagraph(format, conclusion)));
  parts.push(...formatNext(format, ...report.advice));
  return `${parts.join('\n')}\n`;
}

function formatConfig(
  format: ReportFormat,
  { name, source, outcome, namedBy, rejection, comparedWith, differences, warnings, steps }: ConfigReport,
) {
  // The name and the source can come from the disk of an untrusted node.
  const lines = [wrapBeside('', `${formatName(name)} (from ${source})`, format.width)];
  if (outcome === 'exists') lines.push('  exists. Nothing to do.');
  if (outcome === 'rejected' && rejection !== null) {
    lines.push(indent(format, `Not restored (${rejection.code}): ${rejection.reason}.`));
    const width = format.width - 2;
    lines.push(...formatNext({ ...format, width }, rejection.advice).map((line) => `  ${line}`));
  }
  if (steps.length === 0) return `${lines.join('\n')}\n`;
  if (namedBy !== null) lines.push(indent(format, `Named by ${namedBy}.`));
  if (comparedWith !== null) lines.push(...formatComparison(format, comparedWith, differences));
  for (const warning of warnings) lines.push(indent(format, `Warning: ${warning}`));
  lines.push(...formatSteps(format, steps));
  return `${lines.join('\n')}\n`;
}

function formatComparison(format: ReportFormat, other: string, differences: readonly ConfigDifference[]): string[] {
  if (differences.length === 0) return [indent(format, `Its pool has ${other}, with the same content.`)];
  const more = differences.length - MAX_DIFFERENCES;
  const indented = { ...format, columns: format.columns && format.columns - 2 };
  const table = formatDifferences(indented, differences.slice(0, MAX_DIFFERENCES), 'COPY').trimEnd().split('\n');
  return [
    indent(format, `Its pool has ${other}. Differences:`),
    ...table.map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more (--output json)`] : []),
  ];
}

function formatConclusion({
  ok,
  written,
  problem,
  advice,
  configs,
  pausedPools,
}: RestoreReport): readonly [Style, string] {
  const has = (wanted: ConfigReport['outcome']): boolean => configs.some(({ outcome }) => outcome === wanted);
  if (problem !== null && !written && pausedPools.length === 0) return ['red', `Nothing was written: ${problem}.`];
  if (problem !== null && !has('incomplete') && has('restored')) {
    return ['red', `Restored, but not every node has recovered: ${problem}.`];
  }
  if (problem !== null) {
    const pools = joinWithAnd(pausedPools.map(({ name }) => name));
    const phrase = pausedPools.length === 1 ? `pool ${pools} stays` : `pools ${pools} stay`;
    const note = pausedPools.length === 0 ? '' : ` Until then ${phrase} paused.`;
    return ['red', `Incomplete: ${problem}. Run the same command again to continue.${note}`];
  }
  const accepted = 'Nothing was written: the API server accepts these writes. Run the command again with --confirm.';
  if (has('planned')) return ['magenta', accepted];
  if (!ok) return ['red', has('restored') ? 'Not every config was restored.' : 'Nothing was written.'];
  if (has('restored')) {
    // The operator rolls out nothing to a node that names another config than its disk has.
    const isDone = advice.length === 0;
    return [
      'bold',
      `Restored. ${isDone ? 'The operator now rolls out its own config' : 'The nodes wait for the printed command'}.`,
    ];
  }
  const reason = configs.length === 0 ? ': no node and no pool names a config of this source' : '';
  return ['bold', `Nothing to restore${reason}.`];
}
