import { Command, Option } from 'commander';
import { type ConfigName, toConfigName } from '../../decision/config-name.ts';
import { readReferencesReport, readUnusedReport } from '../../inspect/references-report.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { printReport } from '../report-output.ts';
import { createTableFormat } from '../text-format.ts';
import {
  formatReferencesReport,
  formatReferrerNames,
  formatUnusedNames,
  formatUnusedReport,
  POINT_IN_TIME_NOTICE,
} from './format-report.ts';

interface WhoUsesFlags extends ClusterFlags {
  readonly unused?: boolean;
  readonly output: 'table' | 'json' | 'name';
}

/** The prefix in the output of `oc get machineconfig -o name`. */
const KIND_PREFIX = /^.*\//;

export function createWhoUsesCommand(): Command {
  const command = new Command('who-uses')
    .description('Show what uses a rendered config, or which rendered configs nothing uses.')
    .argument('[config...]', 'names of MachineConfigs')
    .option('--unused', 'list the rendered configs that nothing uses, with pool, age and size, the oldest first')
    .addOption(
      new Option('-o, --output <format>', 'what to print; name: one name a line, for xargs')
        .choices(['table', 'json', 'name'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
In use means what it means for the guard: a node's currentConfig or desiredConfig, a pool's spec or status, or an
unfinished MachineOSBuild names the config. These are hard; a note (finished builds, drains, the first pivot) only
mentions it. A name that is not in the API is said to be so, with the nearest that is, and what names it all the same.

Exit codes:
  0  in use (of several: all of them); always with --unused
  1  not in use (of several: at least one of them)

Examples:
  machineconfig-guard who-uses rendered-worker-25a1be6c1264c64551ae911d23717173
  machineconfig-guard who-uses --unused
  machineconfig-guard who-uses --unused --output name | head -5 | xargs oc delete machineconfig`,
    )
    .action(async (names: readonly string[], flags: WhoUsesFlags) => {
      const configs = parseConfigNames(names, flags);
      const format = createTableFormat(process.stdout);
      const hasNames = flags.output === 'name';
      await withKubeApi(flags, 'machineconfig-guard/who-uses', async (api) => {
        if (configs.length === 0) {
          const report = await readUnusedReport(api);
          const text = hasNames ? formatUnusedNames(report) : formatUnusedReport(format, report);
          printReport(command, flags.output, report, text);
          if (hasNames) command.configureOutput().writeErr?.(`${POINT_IN_TIME_NOTICE}\n`);
        } else {
          const report = await readReferencesReport(api, configs);
          const text = hasNames ? formatReferrerNames(report) : formatReferencesReport(format, report);
          printReport(command, flags.output, report, text);
          if (!report.allUsed) throw new CliError('', EXIT_CODE.no);
        }
      });
    });
  return addClusterFlags(command);
}

/** Empty exactly if the flag `--unused` is set. */
function parseConfigNames(names: readonly string[], { unused }: WhoUsesFlags): ConfigName[] {
  const configs = [...new Set(names.map((name) => toConfigName(name.replace(KIND_PREFIX, ''))))];
  if (configs.some((name) => name.trim() === '')) throw new CliError('a config has no empty name.', EXIT_CODE.usage);
  if (unused === true && configs.length > 0) {
    throw new CliError('--unused looks at all rendered configs: leave the names away.', EXIT_CODE.usage);
  }
  if (unused !== true && configs.length === 0) {
    throw new CliError('name a config, or use --unused to list those that nothing uses.', EXIT_CODE.usage);
  }
  return configs;
}
