import { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { toPrintableLine } from '../../common/printable-text.ts';
import { type ClusterVersion, readClusterVersion } from '../../client/cluster-version.ts';
import { addClusterFlags, type ClusterFlags } from '../../client/cluster-options.ts';
import { getGuardNamespace, withKubeApi } from '../../client/cluster-options.ts';
import { createOutputOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';

interface VersionFlags extends ClusterFlags {
  readonly client?: boolean;
  readonly output: string;
}

/** The JSON of `--output json`. Its keys are a contract. Unknown values are null. */
type VersionReport = ClusterVersion & { readonly clientVersion: string };

const MAX_LINE_LENGTH = 300;
const UNKNOWN: ClusterVersion = { kubernetesVersion: null, guardVersion: null, guardImage: null };

export function createVersionCommand(): Command {
  const command = new Command('version')
    .description('Print the versions of this program, of the installed guard and of Kubernetes.')
    .option('--client', 'print only the version of this program, which needs no cluster')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Permissions: get machineconfigguards and, for the image, deployments.
Exit codes: 0 printed, 2 wrong usage, 3 no usable kubeconfig, or the cluster is
unreachable or denies access. Then it prints only the version of this program.

Examples:
  machineconfig-guard version --client
  machineconfig-guard version -o json`,
    )
    .action(async (flags: VersionFlags) => {
      const namespace = getGuardNamespace(flags);
      let cluster: ClusterVersion | undefined;
      try {
        if (flags.client === true) return;
        cluster = await withKubeApi(flags, 'machineconfig-guard/version', (api) => readClusterVersion(api, namespace));
      } finally {
        const report: VersionReport = { clientVersion: packageJson.version, ...(cluster ?? UNKNOWN) };
        const text = cluster === undefined ? '' : formatCluster(cluster, namespace);
        new Output(command, flags).printReport(report, `Client Version: ${packageJson.version}\n${text}`);
      }
    });
  return addClusterFlags(command);
}

function formatCluster(cluster: ClusterVersion, namespace: string): string {
  const { kubernetesVersion, guardVersion, guardImage } = cluster;
  const image = guardImage === null ? '' : ` (${guardImage})`;
  const guard = guardVersion ?? (guardImage === null ? `none in namespace ${namespace}` : 'unknown');
  const lines = [`Guard Version: ${guard}${image}`, `Kubernetes Version: ${kubernetesVersion ?? 'unknown'}`];
  return lines.map((line) => `${toPrintableLine(line, MAX_LINE_LENGTH)}\n`).join('');
}
