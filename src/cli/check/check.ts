import { Command, Option } from 'commander';
import { FileError } from '../../files/file-error.ts';
import { toCliError } from '../../client/cluster-error.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createNumberParser, createOutputOption, createParser, toDurationOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { withStopSignal } from '../../client/signals.ts';
import * as bootstrap from './check-bootstrap.ts';
import type { ManifestsFlags } from './manifests/check-manifests.ts';
import { checkCluster, type CheckOptions } from './check-cluster.ts';
import { formatCheckReport, formatProblemNames, formatProgress } from './format-report.ts';

interface CheckFlags extends ClusterFlags, ManifestsFlags {
  readonly bootstrapDir?: string;
  readonly manifests?: string;
  readonly role?: string;
  readonly selector?: string;
  readonly minNodes?: number;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly output: string;
}

const MANIFESTS_OPTIONS = new Set(['split', 'openshiftVersion', 'operator', 'releaseImage', 'authfile']);
const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const parseRole = createParser(LABEL_NAME, 'Must be a role, such as master or worker.');
/** The API server rejects invalid selectors. An empty one would select all nodes. */
const parseSelector = createParser(/\S/, 'Must not be empty; omit it to check all nodes.');
const parseDirectory = createParser(/\S/, 'Must not be empty.');
const parseRelease = createParser(/^\d{1,2}\.\d{1,2}(?:\.\d.*)?$/, 'Must be a release, such as 4.20.');
const parseCount = createNumberParser(1, 999_999, 'Must be a whole number of at least 1.');

export function createCheckCommand(): Command {
  const command = new Command('check')
    .description('Find missing configs, and why a node or a pool does not move.')
    .option('--role <role>', 'check only nodes with this role, such as master, and their pools', parseRole)
    .option('-l, --selector <labels>', 'check only nodes with these labels, and their pools', parseSelector)
    .option(
      '--min-nodes <n>',
      'minimum number of nodes (default: 1, and the control plane of the install-config)',
      parseCount,
    )
    .addOption(
      new Option('--bootstrap-dir <dir>', 'check the configs in this directory of the bootstrap host instead')
        .argParser(parseDirectory)
        .conflicts(['role', 'selector', 'minNodes', 'wait', 'timeout']),
    )
    .addOption(
      new Option('--manifests <dir>', "check an installer's directory before the install instead")
        .argParser(parseDirectory)
        .conflicts(['bootstrapDir', 'role', 'selector', 'minNodes', 'wait', 'timeout']),
    )
    .option('--split <dir>', 'with --manifests: write one document per file into this new directory', parseDirectory)
    .option('--openshift-version <version>', 'with --manifests: the release to install, such as 4.20', parseRelease)
    .addOption(
      new Option('--operator <source>', 'with --manifests: render with this image of the operator, or this program')
        .argParser(parseDirectory)
        .conflicts(['releaseImage']),
    )
    .option(
      '--release-image <image>',
      'with --manifests: find the image of the operator in this release with oc',
      parseDirectory,
    )
    .option('--authfile <file>', 'with --operator: pull secret for its image', parseDirectory)
    .option('--wait', 'wait until the result is fine or cannot recover')
    .addOption(toDurationOption(new Option('--timeout <duration>', 'maximum time of --wait'), '30m'))
    .addOption(createOutputOption(['text', 'json', 'name', 'wide', 'yaml']))
    .addHelpText(
      'after',
      `
The result is fine if all configs exist that nodes, pools and builds name, and
if nothing stands still: no node or pool is Degraded, and no roll-out waits for
a cordoned, lost or blocked node. The status of a pool may be empty for the
first 30 minutes if one of its machines is updated or the pool is custom. The
command prints the cause and what to do, and never does it.
Permissions: list nodes, machineconfigpools and machineconfigs. The ClusterRole
machineconfig-guard-reader has the others. The output says what is missing.

With --bootstrap-dir the result is fine if the API has every config that the
bootstrap host (rendezvous host) rendered and that a node, a pool or the
control plane needs. A missing config is compared with the one of the cluster.
Permissions: also get machineconfigs.

With --manifests no cluster is needed. The result is fine if nothing in
manifests/ and openshift/ lets the install fail, makes nodes Degraded, or lets
the bootstrap host render other configs than the cluster.
--operator runs the machine-config-controller of the release, offline, twice:
with what the bootstrap host reads and with what the cluster gets. It needs
podman or docker for an image, or the program with its templates/ beside it.

Exit codes:
  0  fine
  1  not fine; with --wait: after the timeout, or as soon as waiting cannot help
  2  wrong usage or an unusable file
  3  the API server is unreachable (with --wait: for 30 s) or denies access

Examples:
  machineconfig-guard check
  machineconfig-guard check --role master --min-nodes 2 --wait --timeout 20m
  export KUBECONFIG=/opt/openshift/auth/kubeconfig-loopback
  machineconfig-guard check --bootstrap-dir /etc/mcs/bootstrap
  machineconfig-guard check --manifests cluster/ --split cluster-split/
  machineconfig-guard check --manifests cluster/ --openshift-version 4.20 \\
    --release-image quay.io/openshift-release-dev/ocp-release:4.20.0-x86_64`,
    )
    .action(async (flags: CheckFlags) => {
      const output = new Output(command, flags);
      const { report, table, names, failure } = await runCheck(flags, command, output);
      output.printReport(report, flags.output === 'name' ? names : table);
      if (failure !== undefined) throw new CliError(failure, EXIT_CODE.usage);
      if (!report.ok) throw new CliError('', EXIT_CODE.failure);
    });
  return addClusterFlags(command);
}

interface CheckResult {
  readonly report: { readonly ok: boolean };
  readonly table: string;
  readonly names: string;
  readonly failure?: string | undefined;
}

async function runCheck(flags: CheckFlags, command: Command, output: Output): Promise<CheckResult> {
  const { bootstrapDir, manifests, wait = false, minNodes } = flags;
  const { format } = output;
  if (manifests !== undefined) {
    const { checkManifests } = await import('./manifests/check-manifests.ts');
    const startedAt = Date.now();
    const onProgress = (text: string): void => output.printProgress(text, Date.now() - startedAt);
    return await withFiles((signal) => checkManifests(manifests, { ...flags, format, signal, onProgress }));
  }
  const given = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
  const stray = given.find((option) => MANIFESTS_OPTIONS.has(option.attributeName()));
  if (stray !== undefined) throw new CliError(`${stray.long} needs --manifests`, EXIT_CODE.usage);
  if (!wait && command.getOptionValueSource('timeout') === 'cli') {
    throw new CliError('--timeout needs --wait', EXIT_CODE.usage);
  }
  const host = bootstrapDir && (await withFiles((signal) => bootstrap.readBootstrapDirectory(bootstrapDir, signal)));
  return await withKubeApi(flags, 'machineconfig-guard/check', async (api) => {
    if (host) {
      const { report, isInstalling } = await bootstrap.checkBootstrap(api, host);
      const table = bootstrap.formatBootstrapReport(format, report, isInstalling);
      return { report, table, names: bootstrap.formatBootstrapNames(report) };
    }
    const progress: CheckOptions['wait'] = {
      timeoutMs: flags.timeout,
      onAnswer: (check, elapsedMs) => check.report.ok || output.printProgress(formatProgress(check), elapsedMs),
      onFailure: (error, elapsedMs) =>
        output.printProgress(`${output.describeError(toCliError(error, api))}; retrying`, elapsedMs),
    };
    const roleLabel = flags.role && `node-role.kubernetes.io/${flags.role}`;
    const selector = [roleLabel, flags.selector].filter(Boolean).join(',') || undefined;
    const hasControlPlane = flags.selector === undefined && (flags.role ?? 'master') === 'master';
    const check = await checkCluster(api, { selector, minNodes, hasControlPlane, wait: wait ? progress : undefined });
    return { ...check, table: formatCheckReport(format, check, wait), names: formatProblemNames(check.report) };
  });
}

async function withFiles<T>(read: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return await withStopSignal(async (signal) => {
    try {
      return await read(signal);
    } catch (error) {
      if (signal.aborted) throw new CliError('interrupted', EXIT_CODE.interrupted);
      throw error instanceof FileError ? new CliError(error.message, EXIT_CODE.usage, { cause: error }) : error;
    }
  });
}
