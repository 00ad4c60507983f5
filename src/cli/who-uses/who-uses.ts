import { Command } from 'commander';
import { readReferencesReport, type Selection } from './references-report.ts';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE, ReportedFailure } from '../../client/exit.ts';
import { createOutputOption, parseConfigName } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { formatConfigList, formatConfigNames, formatNamedConfigs, formatUnusedNotice } from './format-report.ts';

interface WhoUsesFlags extends ReportFlags {
  readonly unused?: boolean;
}

export function createWhoUsesCommand(): Command {
  const command = new Command('who-uses')
    .description('Show the nodes, pools and builds that use a config, or list all configs.')
    .argument('[config...]', 'names of MachineConfigs, or their unambiguous beginnings')
    .option('--unused', 'list unused rendered configs with pool and age, oldest first')
    .addOption(createOutputOption(true))
    .addHelpText(
      'after',
      `
Without a name, the command lists every rendered config with its age and its
referrers, and the missing configs that are in use.

The guard denies a deletion if a reference keeps the config: a node's
currentConfig or desiredConfig, a pool's spec or status, or an unfinished
MachineOSBuild. A source config names the pools that merge it. Informational
references do not keep it: a finished build, a drain or the firstPivotConfig
annotation. Missing names are reported with the closest match and the remaining
references.

An unused config can be held: the guard allows its deletion after that time, if
no pool changes before. --unused -o name omits held configs.
Permissions: list nodes, machineconfigpools, machineosbuilds and machineconfigs;
get machineconfigguards.

Exit codes:
  0  all named configs are in use; always without names
  1  at least one named config is not in use
  2  wrong usage, or several configs begin with a name
  3  the API server is unreachable or denies access

Examples:
  machineconfig-guard who-uses
  machineconfig-guard who-uses worker-25a1be6c
  machineconfig-guard who-uses rendered-worker-25a1be6c1264c64551ae911d23717173
  machineconfig-guard who-uses --unused
  machineconfig-guard --context lab who-uses --unused -o name | head -5 |
    xargs -r oc --context lab delete`,
    )
    .action(async (names: readonly string[], flags: WhoUsesFlags) => {
      const selection = parseSelection(names, flags);
      const output = new Output(command, flags);
      const { format } = output;
      const report = await withKubeApi(flags, { name: 'who-uses', role: 'reader', output }, (api) =>
        readReferencesReport(api, selection),
      );
      const { configs, allUsed } = report;
      const areUnused = selection === 'unused';
      if (flags.output === 'name') {
        output.print(formatConfigNames(configs, areUnused));
        if (areUnused) output.printNote(formatUnusedNotice(configs));
      } else if (typeof selection === 'string') {
        output.printReport(report, formatConfigList(format, report, areUnused));
      } else {
        output.printReport(report, formatNamedConfigs(format, report));
      }
      if (typeof selection !== 'string' && !allUsed) throw new ReportedFailure();
    });
  return addClusterFlags(command);
}

function parseSelection(names: readonly string[], { unused = false }: WhoUsesFlags): Selection {
  if (unused && names.length > 0)
    throw new CliError('--unused takes no names; drop --unused, or drop the names', EXIT_CODE.usage);
  if (names.length > 0) return names.map((name) => parseConfigName(name));
  return unused ? 'unused' : 'listed';
}
