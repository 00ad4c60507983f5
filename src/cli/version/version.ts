import { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { type ClusterVersion, readClusterVersion } from '../../client/cluster-version.ts';
import {
  addClusterFlags,
  type ClusterFlags,
  getGuardNamespace,
  withKubeApi,
} from '../../client/cluster-options.ts';
import { createOutputOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';

interface VersionFlags extends ClusterFlags {
  readonly client?: boolean;
  readonly output: string;
}

const UNKNOWN: ClusterVersion = { kubernetesVersion: null, guardVersion: null, guardImage: null };

export function createVersionCommand(): Command {
  const command = new Command('version')
    .description('Print the versions of this program, of the installed guard and of Kubernetes.')
    .option('--client', 'print only the version of this program, which needs no cluster')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Permissions: get machineconfigguards. For the image: get deployments in the
namespace of the guard.
Exit codes: 0 printed, 2 wrong usage, 3 no usable kubeconfig, or the cluster is
unreachable or denies access. Then it prints only the version of this program.

Examples:
  machineconfig-guard version --client
  machineconfig-guard version -o json`,
    )
    .action(async (flags: VersionFlags) => {
      const namespace = getGuardNamespace(flags);
      let report = { clientVersion: packageJson.version, ...UNKNOWN };
      let text = `Client Version: ${packageJson.version}\n`;
      try {
        if (flags.client === true) return;
        const cluster = await withKubeApi(flags, 'machineconfig-guard/version', async (api) => {
          return await readClusterVersion(api, namespace);
        });
        report = { ...report, ...cluster };
        text += formatClusterVersion(cluster, namespace);
      } finally {
        new Output(command, flags).printReport(report, text);
      }
    });
  return addClusterFlags(command);
}

function formatClusterVersion(
  { kubernetesVersion, guardVersion, guardImage }: ClusterVersion,
  namespace: string,
): string {
  const image = guardImage === null ? '' : ` (${guardImage})`;
  const guard = guardVersion ?? (guardImage === null ? `none in namespace ${namespace}` : 'unknown');
  return `Guard Version: ${guard}${image}\nKubernetes Version: ${kubernetesVersion ?? 'unknown'}\n`;
}
