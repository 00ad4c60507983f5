import { X509Certificate } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Mode, MODES } from '../../decision/settings.ts';
import type { Authority } from '../../certificates/authority.ts';
import { OutputDirectoryError, prepareOutputDirectory, writeOutputFiles } from '../../install/output-directory.ts';
import { MAX_DAYS } from '../../certificates/validity.ts';
import { checkImage } from '../../install/image.ts';
import type { Installation, Profile } from '../../install/installation.ts';
import { type KubernetesVersion, parseKubernetesVersion } from '../../install/kubernetes-version.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { parseDays } from '../option-parsers.ts';

interface RenderFlags {
  readonly out: string;
  readonly image: string;
  readonly profile: Profile;
  readonly tls: 'generated' | 'service-ca';
  readonly mode?: Mode;
  readonly singleNode?: boolean;
  readonly hostNetwork?: boolean;
  readonly kubernetesVersion?: KubernetesVersion;
  readonly days?: number;
  readonly caCertFile?: string;
  readonly caKeyFile?: string;
  readonly force?: boolean;
  readonly output: 'text' | 'json';
}

/** What `render --output json` prints. Times are RFC 3339, sizes bytes, the fingerprint SHA-256 in hex with colons. */
interface RenderReport {
  readonly directory: string;
  readonly files: readonly {
    readonly file: string;
    readonly kind: string;
    readonly name: string;
    readonly secret: boolean;
  }[];
  /** Files of an earlier rendering that this one does not have. */
  readonly removed: readonly string[];
  readonly bytes: number;
  /** What the set weighs in an installer's image. */
  readonly gzipBytes: number;
  readonly image: string;
  readonly profile: Profile;
  readonly tls: RenderFlags['tls'];
  readonly authority: { readonly fingerprint256: string; readonly notAfter: string } | null;
  readonly leftOut: readonly string[];
  readonly warnings: readonly string[];
}

/** `render`: the manifests for an installer's directory. Touches no cluster. */
export function createRenderCommand(clock: () => Date = () => new Date()): Command {
  const command = new Command('render')
    .description(
      "Write the manifests of an installation, certificates included, for an installer's openshift/ directory.",
    )
    .requiredOption('--out <dir>', 'directory to write to; made if it is not there')
    .requiredOption('--image <reference>', 'image of the guard, best with its digest', image)
    .addOption(
      new Option('--profile <profile>', 'what happens to deletions while the guard does not answer')
        .choices(['fail-closed', 'fail-open-with-floor'])
        .default('fail-closed'),
    )
    .addOption(
      new Option(
        '--tls <source>',
        "where serving certificates come from: an authority made now, or OpenShift's service CA",
      )
        .choices(['generated', 'service-ca'])
        .default('generated'),
    )
    .addOption(
      new Option(
        '--mode <mode>',
        'write a MachineConfigGuard with this mode (default: none is written, and Enforce holds)',
      ).choices(MODES),
    )
    .option('--single-node', 'one replica, for a cluster with one control-plane node')
    .option(
      '--host-network',
      'pods on the network of their hosts, ports 9843 to 9845: reachable while the cluster boots',
    )
    .option(
      '--kubernetes-version <version>',
      'of the cluster, such as 1.31: some kinds need 1.29 or 1.30',
      kubernetesVersion,
    )
    .option('--days <n>', `days until the authority expires, 1 to ${MAX_DAYS} (default: ${MAX_DAYS})`, parseDays)
    .option(
      '--ca-cert-file <file>',
      'use this authority instead of a new one, PEM; as when an installation is rendered again',
    )
    .option('--ca-key-file <file>', 'its private key, PEM')
    .option('--force', 'replace the files of an earlier rendering; no other file is touched')
    .addOption(new Option('--output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
One object a file, 99_machineconfig-guard-NN-kind.yaml, less than 32 KiB gzipped, private keys with mode 0600.
Every run makes a new authority unless --ca-cert-file and --ca-key-file name one; to exchange the authority of
an installation that runs, use \`machineconfig-guard certs rotate\`.

fail-closed            rendered MachineConfigs cannot be deleted while the guard is down; nothing else is touched
fail-open-with-floor   two ValidatingAdmissionPolicies judge alone while the guard is down (Kubernetes 1.30 or newer)

Examples:
  machineconfig-guard render --out openshift/ --image registry.example.com/machineconfig-guard@sha256:<digest> --kubernetes-version 1.31
  machineconfig-guard render --out sno/openshift/ --image registry.example.com/machineconfig-guard:0.1.0 --single-node --mode Audit`,
    )
    .action(async (flags: RenderFlags) => {
      const report = await render(flags, clock());
      const output = command.configureOutput();
      for (const warning of report.warnings) output.writeErr?.(`machineconfig-guard: warning: ${warning}\n`);
      output.writeOut?.(flags.output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : asText(report));
    });
  return command;
}

async function render(flags: RenderFlags, now: Date): Promise<RenderReport> {
  checkCombination(flags);
  const given = await givenAuthority(flags, now);
  // YAML and node-forge are slow to load, and only this command and `certs` need them.
  const { buildInstallation, InvalidInstallation, OWN_FILE_NAME } = await import('../../install/installation.ts');
  const make = (authority: Authority | undefined): Installation => {
    try {
      return buildInstallation({
        image: flags.image,
        profile: flags.profile,
        authority,
        mode: flags.mode,
        singleNode: flags.singleNode === true,
        hostNetwork: flags.hostNetwork === true,
        kubernetesVersion: flags.kubernetesVersion,
      });
    } catch (error) {
      if (!(error instanceof InvalidInstallation)) throw error;
      throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
    }
  };
  // Whatever is impossible is said before a directory is made, and before the half second that a key takes.
  const names = make(undefined).files.map(({ name }) => name);
  try {
    const earlier = await ownFiles(flags.out, OWN_FILE_NAME);
    await prepareOutputDirectory(flags.out, [...new Set([...earlier, ...names])], flags.force === true);
    const authority =
      flags.tls === 'generated' ? (given ?? (await newAuthority(flags.days ?? MAX_DAYS, now))) : undefined;
    const { files, leftOut } = make(authority);
    await writeOutputFiles(flags.out, files);
    const removed = earlier.filter((name) => !files.some((file) => file.name === name));
    for (const name of removed) await rm(path.join(flags.out, name));
    return {
      directory: flags.out,
      files: files.map(({ name, kind, objectName, secret }) => ({ file: name, kind, name: objectName, secret })),
      removed,
      bytes: files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0),
      gzipBytes: gzipSync(files.map(({ content }) => content).join('')).length,
      image: flags.image,
      profile: flags.profile,
      tls: flags.tls,
      authority: authority === undefined ? null : summaryOf(authority),
      leftOut,
      warnings: checkImage(flags.image).pinned
        ? []
        : [
            `--image ${flags.image} has no digest: what it names may change, and mirrors for disconnected clusters go by digest.`,
          ],
    };
  } catch (error) {
    if (error instanceof OutputDirectoryError) throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
    throw error;
  }
}

function checkCombination(flags: RenderFlags): void {
  if (flags.out === '') throw new CliError('--out needs the name of a directory.', EXIT_CODE.usage);
  const given = flags.caCertFile !== undefined || flags.caKeyFile !== undefined;
  if (flags.tls === 'service-ca' && (given || flags.days !== undefined)) {
    throw new CliError(
      '--days, --ca-cert-file and --ca-key-file are about an authority; --tls service-ca has none of its own.',
      EXIT_CODE.usage,
    );
  }
  if (!given) return;
  if (flags.caCertFile === undefined || flags.caKeyFile === undefined) {
    throw new CliError('--ca-cert-file and --ca-key-file go together.', EXIT_CODE.usage);
  }
  if (flags.days !== undefined)
    throw new CliError('--days is for a new authority; the one in --ca-cert-file has its own.', EXIT_CODE.usage);
}

async function givenAuthority({ caCertFile, caKeyFile }: RenderFlags, now: Date): Promise<Authority | undefined> {
  if (caCertFile === undefined || caKeyFile === undefined) return undefined;
  const authority = { certificatePem: await readPem(caCertFile), privateKeyPem: await readPem(caKeyFile) };
  const { checkAuthority } = await import('../../certificates/authority.ts');
  const check = checkAuthority(authority, now);
  if (!check.usable)
    throw new CliError(`${caCertFile} and ${caKeyFile} cannot be used: ${check.reason}.`, EXIT_CODE.usage);
  return authority;
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(`${file} cannot be read: ${code ?? String(error)}.`, EXIT_CODE.usage, { cause: error });
  }
}

async function newAuthority(validDays: number, now: Date): Promise<Authority> {
  const { createAuthority } = await import('../../certificates/authority.ts');
  return await createAuthority({ days: validDays, now });
}

/** The files of an earlier rendering. A directory that cannot be read is prepareOutput's to complain about. */
async function ownFiles(directory: string, pattern: RegExp): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => pattern.test(name)).sort();
}

function summaryOf({ certificatePem }: Authority): { fingerprint256: string; notAfter: string } {
  const { fingerprint256, validTo } = new X509Certificate(certificatePem);
  return { fingerprint256, notAfter: new Date(validTo).toISOString() };
}

function asText({ directory, files, removed, bytes, gzipBytes, authority, leftOut }: RenderReport): string {
  const width = Math.max(...files.map(({ file }) => file.length));
  const isInstallerDirectory = path.basename(path.resolve(directory)) === 'openshift';
  return [
    `Wrote ${files.length} files to ${directory}: ${kibibytes(bytes)}, ${kibibytes(gzipBytes)} gzipped`,
    ...files.map(
      ({ file, kind, name, secret }) =>
        `  ${file.padEnd(width)}  ${kind} ${name}${secret ? ' (private key, mode 0600)' : ''}`,
    ),
    ...removed.map((file) => `  removed ${file}, of an earlier rendering`),
    ...(authority === null
      ? []
      : ['', `The authority expires at ${authority.notAfter}; SHA-256 ${authority.fingerprint256}`]),
    ...leftOut.map((line) => `Left out: ${line}.`),
    '',
    'Next, for a cluster that is not installed yet:',
    isInstallerDirectory
      ? '  openshift-install agent create image   (in the directory above; it takes openshift/*.yaml along)'
      : `  cp ${shellWord(path.join(directory, '/'))}99_machineconfig-guard-*.yaml <assets>/openshift/ and create the image`,
    'or for one that runs:',
    `  oc apply -f ${shellWord(directory)}`,
    'and then, to see it refuse a deletion:',
    '  machineconfig-guard verify',
    '',
  ].join('\n');
}

function kibibytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

/** A word that can be pasted into a shell. */
function shellWord(word: string): string {
  return /^[-\w./:@%+=,]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function image(value: string): string {
  if (!checkImage(value).valid)
    throw new InvalidArgumentError(
      'It must be an image reference such as registry.example.com/machineconfig-guard@sha256:….',
    );
  return value;
}

function kubernetesVersion(value: string): KubernetesVersion {
  try {
    return parseKubernetesVersion(value);
  } catch (error) {
    throw error instanceof RangeError ? new InvalidArgumentError(error.message) : error;
  }
}
