import { Command, Option } from 'commander';
import { CliError, EXIT_CODE, ReportedFailure } from '../../client/exit.ts';
import { createOutputOption, parseText, parseVersionOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { formatPath } from '../../files/file-error.ts';
import type { ManifestsFlags } from '../../manifests/check-manifests.ts';

interface ManifestsCommandFlags extends ManifestsFlags {
  readonly output: string;
}

export function createManifestsCommand(): Command {
  const command = new Command('manifests')
    .description('Check the manifests of an installer before the install.')
    .argument('<source>', 'directory of the installer, one file, or - for stdin', parseText)
    .option('--split <dir>', 'write one document per file into this new directory, and check that', parseText)
    .option('--openshift-version <version>', 'the release to install, such as 4.20', parseVersionOption)
    .addOption(
      new Option('--operator <source>', 'render with this image of the operator, or with this program')
        .argParser(parseText)
        .conflicts(['releaseImage']),
    )
    .option('--release-image <image>', 'find the image of the operator in this release with oc', parseText)
    .option('--authfile <file>', 'pull secret for the image of the operator', parseText)
    .option('--warnings-as-errors', 'exit with 1 also for warnings')
    .addOption(createOutputOption(true))
    .addHelpText(
      'after',
      `
No cluster is needed. The result is fine if nothing in manifests/ and openshift/
lets the install fail, makes nodes Degraded, or lets the bootstrap host render
other configs than the cluster. Other manifests can be in a file, in ConfigMaps
for the Assisted installer or ZTP, or come from kustomize.
--operator runs the machine-config-controller of the release, offline, twice:
with what the bootstrap host reads and with what the cluster gets. It needs
podman or docker for an image, or the program with its templates/ beside it.

Exit codes:
  0  fine, perhaps with warnings
  1  not fine
  2  wrong usage, an unusable file, or the operator cannot run

Examples:
  machineconfig-guard check manifests cluster/ --split cluster-split/
  machineconfig-guard check manifests cluster/ --openshift-version 4.20 \\
    --release-image quay.io/openshift-release-dev/ocp-release:4.20.0-x86_64
  kustomize build site/ | machineconfig-guard check manifests -`,
    )
    .action(async (source: string, flags: ManifestsCommandFlags) => {
      if (source === '-' && flags.split !== undefined) {
        throw new CliError('--split needs a directory; drop --split, or name the directory', EXIT_CODE.usage);
      }
      if (flags.authfile !== undefined && (flags.operator ?? flags.releaseImage) === undefined) {
        throw new CliError('--authfile needs --operator or --release-image', EXIT_CODE.usage);
      }
      const output = new Output(command, flags);
      const { format } = output;
      const startedAt = Date.now();
      const onProgress = (text: string): void => output.printProgress(text, Date.now() - startedAt);
      const { checkManifests } = await import('../../manifests/check-manifests.ts');
      const { report, table, names, failure, warning } = await checkManifests(source, { ...flags, format, onProgress });
      if (warning !== undefined) output.printNote(`${format.commands.program}: warning: ${warning}`);
      output.printReport(report, flags.output === 'name' ? names : table);
      if (flags.split !== undefined) {
        const next = 'next, give the installer these files instead of the old ones';
        output.printMessage(`wrote one document per file to ${formatPath(flags.split)}; ${next}`);
      }
      if (failure !== undefined) throw new CliError(failure, EXIT_CODE.usage);
      if (!report.ok) throw new ReportedFailure();
    });
  return command;
}
