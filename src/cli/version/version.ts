import { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { toPrintableLine } from '../../common/printable-text.ts';
import { readKubernetesVersion } from '../../client/cluster-access.ts';
import { addClusterFlags, type ClusterFlags } from '../../client/cluster-options.ts';
import { withKubeApi } from '../../client/with-kube-api.ts';
import { readGuard } from '../../client/guard-report.ts';
import { createOutputOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';

interface VersionFlags extends ClusterFlags {
  readonly client?: boolean;
  readonly output: string;
}

/** The JSON of `--output json`. Its keys are a contract. Unknown values are null. */
interface VersionReport {
  readonly clientVersion: string;
  /** As the leader reports it. */
  readonly guardVersion: string | null;
  readonly kubernetesVersion: string | null;
}

const MAX_LENGTH = 100;

export function createVersionCommand(): Command {
  const command = new Command('version')
    .description('Print the versions of this program, of the running guard and of Kubernetes.')
    .option('--client', 'print only the version of this program, which needs no cluster')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Permissions: get machineconfigguards.
Exit codes: 0 printed, 2 wrong usage, 3 no usable kubeconfig, or the cluster is
unreachable or denies access. Then it prints only the version of this program.

Examples:
  machineconfig-guard version --client
  machineconfig-guard version -o json`,
    )
    .action(async (flags: VersionFlags) => {
      let report: VersionReport = { clientVersion: packageJson.version, guardVersion: null, kubernetesVersion: null };
      let text = `Client Version: ${packageJson.version}\n`;
      try {
        if (flags.client === true) return;
        report = await withKubeApi(flags, 'machineconfig-guard/version', async (api) => {
          const kubernetesVersion = await readKubernetesVersion(api);
          return { ...report, guardVersion: (await readGuard(api))?.status?.version ?? null, kubernetesVersion };
        });
        text += `Guard Version: ${toPrintableLine(report.guardVersion ?? 'none', MAX_LENGTH)}\n`;
        text += `Kubernetes Version: ${toPrintableLine(report.kubernetesVersion ?? 'unknown', MAX_LENGTH)}\n`;
      } finally {
        new Output(command, flags).printReport(report, text);
      }
    });
  return addClusterFlags(command);
}
