import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Authority } from '../../certificates/authority.ts';
import { MAX_DAYS } from '../../certificates/validity.ts';
import { isHold, MODES } from '../../decision/settings.ts';
import { toShellWord } from '../../inspect/shell-word.ts';
import { checkImage } from '../../install/image.ts';
import type { Installation, InstallationOptions } from '../../install/installation.ts';
import { type KubernetesVersion, parseKubernetesVersion } from '../../install/kubernetes-version.ts';
import { summarizeCertificate } from '../certificate-summary.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createOutputOption, parseDays, parseOutputDirectory } from '../option-parsers.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../output-directory.ts';
import { printReport } from '../report-output.ts';

interface RenderFlags extends Omit<InstallationOptions, 'authority'> {
  readonly out: string;
  readonly tls: 'generated' | 'service-ca';
  readonly days?: number;
  readonly caCertFile?: string;
  readonly caKeyFile?: string;
  readonly force?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

/** Scripts rely on these JSON field names. */
type RenderReport = Awaited<ReturnType<typeof render>>;

const DIGEST_REASON = 'a tag can move to another image, and mirrors of disconnected clusters need a digest';
const EXAMPLE_IMAGE = 'registry.example.com/machineconfig-guard';

export function createRenderCommand(): Command {
  const command = new Command('render')
    .description("Write the manifests of the guard, for an installer's openshift/ directory or for `oc apply`.")
    .requiredOption('--out <dir>', 'output directory; created if missing', parseOutputDirectory)
    .requiredOption('--image <reference>', 'image of the guard, preferably with a digest', parseImage)
    .addOption(
      new Option('--profile <profile>', 'what the API server does while the guard is down')
        .choices(['fail-closed', 'fail-open-with-floor'])
        .default('fail-closed'),
    )
    .addOption(
      new Option(
        '--tls <source>',
        "issuer of the serving certificates: a generated authority or OpenShift's service CA",
      )
        .choices(['generated', 'service-ca'])
        .default('generated'),
    )
    .addOption(
      new Option(
        '--mode <mode>',
        'mode of the MachineConfigGuard (default: the guard creates one with Enforce)',
      ).choices(MODES),
    )
    .option(
      '--hold <duration>',
      'how long to hold a config after a pool last named it, such as 24h for bare metal; 0s is off (default: 2h)',
      parseHold,
    )
    .option('--single-node', 'run one replica, for a cluster with one control-plane node')
    .option(
      '--host-network',
      'run the pods on the host network, ports 9843 to 9845, reachable during bootstrap',
    )
    .option(
      '--no-machineconfig-access',
      'do not let the guard read MachineConfigs; it then finds no dangling references',
    )
    .option(
      '--open-network',
      'open the webhook port to all addresses, for API servers that are not on the host network of the nodes',
    )
    .option(
      '--reference-guard',
      'deny that a person makes a node or a pool reference a missing MachineConfig (Kubernetes 1.28 or newer)',
    )
    .option(
      '--kubernetes-version <version>',
      'Kubernetes version of the cluster, such as 1.31; some objects need 1.28 to 1.30',
      parseVersion,
    )
    .option(
      '--days <n>',
      `days until a new authority expires, 1 to ${MAX_DAYS} (default: ${MAX_DAYS})`,
      parseDays,
    )
    .option('--ca-cert-file <file>', 'reuse this authority, PEM, instead of creating one')
    .option('--ca-key-file <file>', 'private key of the reused authority, PEM')
    .option('--force', 'overwrite or remove the files of an earlier run; keep all other files')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Each object is one file, 99_machineconfig-guard-NN-kind.yaml. Private keys have
mode 0600. Every run creates a new authority, unless you pass --ca-cert-file. To
replace the authority of a running installation, use \`certs rotate\`.

Profiles:
  fail-closed           while the guard is down, the API server denies every
                        deletion of a rendered MachineConfig
  fail-open-with-floor  while the guard is down, ValidatingAdmissionPolicies
                        check the deletions (Kubernetes 1.30 or newer)

Permissions: none, it does not access a cluster.
Exit codes: 0 written, 2 wrong usage, unwritable directory or existing files.

Examples:
  machineconfig-guard render --out openshift/ --image ${EXAMPLE_IMAGE}:0.1.0
  machineconfig-guard render --out openshift/ --image ${EXAMPLE_IMAGE}:0.1.0 \\
    --kubernetes-version 1.31 --profile fail-open-with-floor`,
    )
    .action(async (flags: RenderFlags) => {
      const report = await render(flags, new Date());
      for (const warning of report.warnings) {
        command.configureOutput().writeErr?.(`machineconfig-guard: warning: ${warning}\n`);
      }
      printReport(command, flags.output, report, formatReport(report));
    });
  return command;
}

async function render(flags: RenderFlags, now: Date) {
  const { out, image, profile, tls } = flags;
  const conflict = findConflict(flags);
  if (conflict !== undefined) throw new CliError(conflict, EXIT_CODE.usage);
  const authority = tls === 'generated' ? await readOrCreateAuthority(flags, now) : undefined;
  const { buildInstallation, InvalidInstallation, OWN_FILE_NAME } =
    await import('../../install/installation.ts');
  const build = (): Installation => {
    try {
      return buildInstallation({ ...flags, authority });
    } catch (error) {
      if (!(error instanceof InvalidInstallation)) throw error;
      throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
    }
  };
  const { files, omittedObjects } = build();
  const names = files.map(({ name }) => name);
  // Ignores an unreadable directory here; prepareOutputDirectory reports it.
  const earlierNames = (await readdir(out).catch(() => [])).filter((name) => OWN_FILE_NAME.test(name)).sort();
  await prepareOutputDirectory(out, [...new Set([...earlierNames, ...names])], flags.force === true);
  await writeOutputFiles(out, files);
  const removed = earlierNames.filter((name) => !names.includes(name));
  for (const name of removed) await rm(path.join(out, name));
  return {
    directory: out,
    files: files.map(({ name: file, kind, objectName: name, isPrivate: secret }) => ({
      file,
      kind,
      name,
      secret,
    })),
    removed,
    bytes: files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0),
    gzipBytes: gzipSync(files.map(({ content }) => content).join('')).length,
    image,
    profile,
    tls,
    authority: authority === undefined ? null : summarizeCertificate(authority.certificatePem),
    leftOut: omittedObjects,
    warnings: checkImage(image).pinned ? [] : [`--image ${image} has no digest: ${DIGEST_REASON}`],
  };
}

function findConflict({ tls, days, caCertFile, caKeyFile }: RenderFlags): string | undefined {
  const hasAuthority = caCertFile !== undefined || caKeyFile !== undefined;
  if (tls === 'service-ca' && (hasAuthority || days !== undefined)) {
    return '--days, --ca-cert-file and --ca-key-file cannot be used with --tls service-ca';
  }
  if (!hasAuthority) return undefined;
  if (caCertFile === undefined || caKeyFile === undefined)
    return '--ca-cert-file and --ca-key-file must be used together';
  return days === undefined
    ? undefined
    : '--days cannot be used with --ca-cert-file, which keeps its own expiry';
}

async function readOrCreateAuthority(flags: RenderFlags, now: Date): Promise<Authority> {
  const { days = MAX_DAYS, caCertFile, caKeyFile } = flags;
  const { checkAuthority, createAuthority } = await import('../../certificates/authority.ts');
  if (caCertFile === undefined || caKeyFile === undefined) return await createAuthority({ days, now });
  const authority = { certificatePem: await readPem(caCertFile), privateKeyPem: await readPem(caKeyFile) };
  const check = checkAuthority(authority, now);
  if (check.usable) return authority;
  throw new CliError(`${caCertFile} and ${caKeyFile} cannot be used: ${check.reason}`, EXIT_CODE.usage);
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(`cannot read ${file}: ${code ?? String(error)}`, EXIT_CODE.usage, { cause: error });
  }
}

function formatReport({
  directory,
  files,
  removed,
  bytes,
  gzipBytes,
  authority,
  leftOut: omittedObjects,
}: RenderReport): string {
  const width = Math.max(...files.map(({ file }) => file.length));
  const isInstallerDirectory = path.basename(path.resolve(directory)) === 'openshift';
  const ownFiles = `${toShellWord(path.join(directory, '/'))}99_machineconfig-guard-*.yaml`;
  return [
    `Wrote ${files.length} files to ${directory}: ${formatSize(bytes)}, ${formatSize(gzipBytes)} gzipped`,
    ...files.map(({ file, kind, name, secret: isPrivate }) => {
      return `  ${file.padEnd(width)}  ${kind} ${name}${isPrivate ? ' (private key, mode 0600)' : ''}`;
    }),
    ...removed.map((file) => `  removed ${file}, a file of an earlier run`),
    ...(authority === null
      ? []
      : ['', `The authority expires on ${authority.notAfter}; SHA-256 ${authority.fingerprint256}`]),
    ...omittedObjects.map((object) => `Omitted ${object}.`),
    '',
    'Next, for a new cluster:',
    isInstallerDirectory
      ? '  openshift-install agent create image   (run it in the parent directory of openshift/)'
      : `  cp ${ownFiles} <assets>/openshift/   (before you create the image)`,
    'For a running cluster:',
    `  oc apply -f ${toShellWord(directory)}`,
    'Then verify that the guard denies a deletion:',
    '  machineconfig-guard verify',
    '',
  ].join('\n');
}

function formatSize(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function parseImage(value: string): string {
  if (checkImage(value).valid) return value;
  throw new InvalidArgumentError(
    'Must be an image reference, such as registry.example.com/machineconfig-guard@sha256:….',
  );
}

function parseHold(value: string): string {
  if (isHold(value)) return value;
  throw new InvalidArgumentError('Must be a duration of at most 720h, such as 0s, 30m or 24h.');
}

function parseVersion(value: string): KubernetesVersion {
  try {
    return parseKubernetesVersion(value);
  } catch (error) {
    throw error instanceof RangeError ? new InvalidArgumentError(error.message) : error;
  }
}
