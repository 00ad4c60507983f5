import { Command } from 'commander';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { createOutputOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import {
  applyStyle,
  formatNext,
  indent,
  type ReportFormat,
  type Style,
  wrapParagraph,
} from '../../client/output/text-format.ts';
import { groupBy } from '../../common/group-by.ts';
import { countNoun } from '../../common/printable-text.ts';
import { withStopSignal } from '../../client/signals.ts';
import { formatSteps, throwUnlessOk } from '../steps/step-run.ts';
import { uninstall, type UninstallReport } from './uninstall-run.ts';

interface UninstallFlags extends ReportFlags {
  readonly confirm?: boolean;
}

export function createUninstallCommand(): Command {
  const command = new Command('uninstall')
    .description('List the objects of every installed profile, and delete them with --confirm.')
    .option('--confirm', 'delete the objects; without it, only list them')
    .addOption(createOutputOption())
    .addHelpText(
      'after',
      `
Finds objects by the labels app.kubernetes.io/name, managed-by and part-of, all
with the value machineconfig-guard. Sends every deletion as a dry run first.
Deletes webhook configurations and policies before the rest, because without the
guard they deny deletions. Then a dry-run deletion of a rendered MachineConfig
shows that nothing denies it. The namespace and the CRD take their content with
them. Waits up to 2 minutes for their end. Run it again to continue. Warns of a
GitOps tool that creates the objects again.
Permissions: list all these kinds. --confirm: get and delete them; those of
verify; patch webhook configurations if the policy webhook-deletion-reason is
installed.

Exit codes:
  0    listed, or deleted and nothing denies a deletion
  1    a deletion is still denied, or an object still exists
  2    wrong usage
  3    the API server is unreachable or denies access
  130  interrupted; the output says what was deleted

Examples:
  machineconfig-guard uninstall
  machineconfig-guard uninstall --confirm`,
    )
    .action(async (flags: UninstallFlags) => {
      const output = new Output(command, flags);
      await withKubeApi(flags, { name: 'uninstall', output }, async (api) => {
        const options = { isConfirmed: flags.confirm === true, onProgress: output.printProgress };
        const run = (signal: AbortSignal) => uninstall(api, { ...options, signal });
        const { report, failure } = await withStopSignal(run, 'interrupted; nothing was deleted');
        output.printReport(report, formatReport(report, output.format));
        throwUnlessOk(report, failure);
      });
    });
  return addClusterFlags(command);
}

function formatReport(report: UninstallReport, format: ReportFormat): string {
  const lines = formatSteps(format, report.steps);
  for (const [tool, [first, ...more]] of groupBy(report.objects, ({ appliedBy }) => appliedBy)) {
    if (tool === null || first === undefined) continue;
    const others = more.length === 0 ? '' : ` and ${countNoun(more.length, 'other object')}`;
    const warning = `${tool} applies ${first.kind} ${first.name}${others}. Stop that first, or it creates them again.`;
    lines.push(indent(format, `Warning: ${warning}`));
  }
  if (lines.length > 0) lines.push('');
  const [style, conclusion] = formatConclusion(report);
  lines.push(applyStyle(format, style, wrapParagraph(format, conclusion)));
  return [...lines, ...formatNext(format, report.advice), ''].join('\n');
}

function formatConclusion(report: UninstallReport): readonly [Style, string] {
  const { confirmed, written, problem, objects, dryRun } = report;
  if (problem !== null && !written && objects.length > 0) return ['red', `Nothing was deleted: ${problem}.`];
  if (problem !== null) return ['red', `Incomplete: ${problem}. Run the same command again to continue.`];
  if (!confirmed && objects.length > 0)
    return ['magenta', 'Nothing was deleted. Run the command again with --confirm.'];
  const result =
    dryRun === null
      ? 'No dry run was sent: no pool, or no rendered MachineConfig without the allow-deletion annotation, exists.'
      : `Nothing denies the deletion of ${dryRun.config} (dry run).`;
  const state = objects.length === 0 ? 'No object of the guard exists.' : 'Uninstalled.';
  return ['bold', confirmed ? `${state} ${result}` : state];
}
