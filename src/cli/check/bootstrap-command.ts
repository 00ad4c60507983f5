import { Command } from 'commander';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { ReportedFailure } from '../../client/exit.ts';
import { createOutputOption, parseText } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { checkBootstrap, formatBootstrapReport, readBootstrapDirectory } from './check-bootstrap.ts';
import { withStopSignal } from '../../client/signals.ts';

export function createBootstrapCommand(): Command {
  const command = new Command('bootstrap')
    .description('Check that the cluster has the configs of the bootstrap host.')
    .argument('<dir>', 'directory of the bootstrap host, such as /etc/mcs/bootstrap', parseText)
    .addOption(createOutputOption())
    .addHelpText(
      'after',
      `
The result is fine if the API has every config that the bootstrap host
(rendezvous host) rendered and that a node, a pool or the control plane needs. A
missing config is compared with the one of the cluster.
Permissions: list nodes and machineconfigpools, get and list machineconfigs.

Exit codes:
  0  fine
  1  not fine
  2  wrong usage or an unusable file
  3  the API server is unreachable or denies access

Examples:
  export KUBECONFIG=/opt/openshift/auth/kubeconfig-loopback
  machineconfig-guard check bootstrap /etc/mcs/bootstrap`,
    )
    .action(async (directory: string, flags: ReportFlags) => {
      const output = new Output(command, flags);
      const host = await withStopSignal((signal) => readBootstrapDirectory(directory, signal), 'interrupted');
      const { report, isInstalling } = await withKubeApi(flags, { name: 'check', role: 'reader', output }, (api) =>
        checkBootstrap(api, host),
      );
      output.printReport(report, formatBootstrapReport(output.format, report, isInstalling));
      if (!report.ok) throw new ReportedFailure();
    });
  return addClusterFlags(command);
}
