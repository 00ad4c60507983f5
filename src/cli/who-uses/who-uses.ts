import { Command } from 'commander';
import type { ConfigName } from '../../decision/config-name.ts';
import { formatName } from '../../decision/message.ts';
import { readConfigListReport, readReferencesReport, readUnusedReport } from './references-report.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createOutputOption, parseConfigName } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import {
  formatConfigList,
  formatConfigNames,
  formatHeldNotice,
  formatReferencesReport,
  formatReferrerNames,
  formatUnusedNames,
  formatUnusedReport,
  POINT_IN_TIME_NOTICE,
} from './format-report.ts';

interface WhoUsesFlags extends ClusterFlags {
  readonly unused?: boolean;
  readonly output: 'table' | 'json' | 'name' | 'wide' | 'yaml';
}

export function createWhoUsesCommand(): Command {
  const command = new Command('who-uses')
    .description('Show the nodes, pools and builds that use a config, or list all configs.')
    .argument('[config...]', 'names of MachineConfigs, or their unambiguous beginnings')
    .option('--unused', 'list unused rendered configs with pool, age and size, oldest first')
    .addOption(createOutputOption(['table', 'json', 'name', 'wide', 'yaml']))
    .addHelpText(
      'after',
      `
Without a name, the command lists every rendered config with its age, size and
referrers, and the missing configs that are in use.

The guard denies a deletion if a reference keeps the config: a node's
currentConfig or desiredConfig, a pool's spec or status, or an unfinished
MachineOSBuild. Informational references do not keep it: a finished build, a
drain or the firstPivotConfig annotation. Missing names are reported with the
closest match and the remaining references.

HELD UNTIL is when the guard allows the deletion of an unused config, if no pool
changes before. -o name omits held configs.
Permissions: list nodes, machineconfigpools, machineosbuilds and machineconfigs;
get machineconfigs without names, and machineconfigguards with --unused.

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
  machineconfig-guard who-uses --unused -o name | head -5 | xargs oc delete mc`,
    )
    .action(async (names: readonly string[], flags: WhoUsesFlags) => {
      const configs = parseConfigNames(names, flags);
      const output = new Output(command, flags);
      const { format } = output;
      const isNameOutput = flags.output === 'name';
      const print = (report: object, table: string, names: string): void => {
        output.printReport(report, isNameOutput ? names : table);
      };
      await withKubeApi(flags, 'machineconfig-guard/who-uses', async (api) => {
        if (flags.unused === true) {
          const { report, renderedCount } = await readUnusedReport(api);
          print(report, formatUnusedReport(format, report, renderedCount), formatUnusedNames(report));
          if (isNameOutput) output.printNote(`${formatHeldNotice(report)}${POINT_IN_TIME_NOTICE}`);
        } else if (configs.length === 0) {
          const report = await readConfigListReport(api);
          print(report, formatConfigList(format, report), formatConfigNames(report));
        } else {
          const report = await readReferencesReport(api, configs);
          print(report, formatReferencesReport(format, report), formatReferrerNames(report));
          const missing = isNameOutput ? report.configs.filter(({ exists }) => !exists) : [];
          for (const { name } of missing) output.printNote(`${formatName(name)} does not exist`);
          if (!report.allUsed) throw new CliError('', EXIT_CODE.failure);
        }
      });
    });
  return addClusterFlags(command);
}

function parseConfigNames(names: readonly string[], { unused }: WhoUsesFlags): ConfigName[] {
  const configs = [...new Set(names.map((name) => parseConfigName(name)))];
  if (unused === true && configs.length > 0) {
    throw new CliError('--unused takes no names', EXIT_CODE.usage);
  }
  return configs;
}
