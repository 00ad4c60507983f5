import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Authority } from '../../certificates/authority.ts';
import { MAX_DAYS } from '../../certificates/validity.ts';
import { checkImage } from '../../install/image.ts';
import type { Installation, InstallationOptions } from '../../install/installation.ts';
import { parseOpenShiftVersion } from '../../install/kubernetes-version.ts';
import { summarizeCertificate } from '../../client/certificate-summary.ts';
import { addClusterFlags, type ClusterFlags } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createOutputOption, parseDays, parseOutputDirectory, toArgumentParser } from '../../client/option-parsers.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../../client/output-directory.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { INSTALLED_NAME } from '../../kube/api-paths.ts';
import { formatRenderReport, type RenderReport } from './format-report.ts';
import { keepInstalledFlags } from './installed-flags.ts';
import { addRecordedFlags, type FlagValues, formatFlags, RENDER_FLAGS_ANNOTATION } from './recorded-flags.ts';

interface RenderFlags extends Omit<InstallationOptions, 'authority'>, ClusterFlags {
  readonly out: string;
  readonly tls: 'generated' | 'service-ca';
  readonly days?: number;
  readonly caCertFile?: string;
  readonly caKeyFile?: string;
  readonly openshiftVersion?: InstallationOptions['kubernetesVersion'];
  readonly fromCluster?: boolean;
  readonly newAuthority?: boolean;
  readonly policy?: boolean;
  readonly force?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

const STDOUT = '-';
const DIGEST_REASON = 'a tag can move to another image, and mirrors of disconnected clusters need a digest';
const EXAMPLE_IMAGE = 'registry.example.com/machineconfig-guard@sha256:…';
const NEW_AUTHORITY_NOTE = 'Created a new authority. To upgrade an installed guard, use --from-cluster.';
const ROTATION_NOTE =
  'Created a new authority. The API servers trust both until you apply the output without --new-authority.';

export function createRenderCommand(): Command {
  const command = new Command('render')
    .description("Write the manifests of the guard, for `oc apply` or for an installer's openshift/ directory.")
    .requiredOption('--out <dir>', 'output directory, created if missing; - prints one YAML stream', parseOutput)
    .requiredOption('--image <reference>', 'image of the guard, preferably with a digest', parseImage)
    .option('--from-cluster', 'read the version of the cluster, and keep the authority and flags of its guard')
    .option('--new-authority', 'with --from-cluster: replace the authority of the installed guard')
    .option(
      '--openshift-version <version>',
      'OpenShift version of the cluster, such as 4.18',
      toArgumentParser(parseOpenShiftVersion),
    )
    .addOption(
      new Option(
        '--policy',
        'print a Policy of Advanced Cluster Management for clusters from OpenShift 4.15 on',
      ).conflicts(['singleNode', 'fromCluster', 'openshiftVersion']),
    )
    .option('--days <n>', `days until a new authority expires, 1 to ${MAX_DAYS} (default: ${MAX_DAYS})`, parseDays)
    .option('--ca-cert-file <file>', 'reuse this authority, PEM, instead of creating one')
    .option('--ca-key-file <file>', 'private key of the reused authority, PEM')
    .option('--force', 'overwrite or remove the files of an earlier run; keep all other files')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
For a running cluster, pipe the output of --out - to \`oc apply\`. It contains the
private key of the authority, so do not store it. The same command installs and
upgrades: --from-cluster keeps the authority, and each flag of the installed
guard that you do not pass, and names them on stderr. Mode and hold of the
MachineConfigGuard do not change. Without --from-cluster, --ca-cert-file or
--tls service-ca, every run creates a new authority.

With --new-authority, the API servers trust both authorities. Then apply the
output without it: they trust only the new one.

In a directory each object is one file. Private keys have mode 0600.

Without a version, objects that need OpenShift 4.16 or 4.17 are left out. On
4.14, failurePolicy is Ignore.

Profiles:
  fail-closed           while the guard is down, the API server denies every
                        deletion of a rendered MachineConfig
  fail-open-with-floor  while the guard is down, ValidatingAdmissionPolicies
                        check the deletions (OpenShift 4.17 or newer)

Permissions: none. With --from-cluster: get the objects of the installed guard.
Exit codes: 0 written, 1 the installed guard cannot be upgraded, 2 wrong usage,
unwritable directory or existing files, 3 the API server is unreachable or
denies access.

Examples:
  machineconfig-guard render --from-cluster --out - \\
    --image ${EXAMPLE_IMAGE} | oc apply -f -
  machineconfig-guard render --openshift-version 4.18 --out openshift/ \\
    --image ${EXAMPLE_IMAGE}`,
    )
    .action(async (given: RenderFlags) => {
      assertNoConflict(given);
      const isGiven = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
      const upgrade = given.fromCluster === true ? await keepInstalledFlags(given, isGiven) : undefined;
      const { flags = given, installed, notes = [] } = upgrade ?? {};
      assertNoConflict(flags);
      const output = new Output(command, flags);
      const { commands } = output.format;
      const print = (text: string): void => output.printNote(`${commands.program}: ${text}`);
      const rendered = await render(flags, installed, new Date());
      for (const note of notes) print(note);
      for (const warning of rendered.warnings) print(`warning: ${warning}`);
      if (rendered.removal !== undefined) print(commands.toClause(rendered.removal));
      if (rendered.previousAuthority !== undefined) output.printNote(ROTATION_NOTE);
      if (flags.out === STDOUT) {
        const { formatStream } = await import('../../install/installation.ts');
        for (const object of rendered.omittedObjects) output.printNote(`Omitted ${object}.`);
        if (createsAuthority(flags)) output.printNote(NEW_AUTHORITY_NOTE);
        output.print(formatStream(rendered.files));
        return;
      }
      const report = await writeDirectory(flags, rendered);
      output.printReport(report, formatRenderReport(output.format, report));
      const { listManifestWarnings } = await import('../check/manifests/check-manifests.ts');
      const problems = await listManifestWarnings(flags.out).catch((error: Error) => [error.message]);
      for (const problem of problems) {
        print(`warning: ${typeof problem === 'string' ? problem : commands.toClause(problem)}`);
      }
    });
  addRecordedFlags(command);
  return addClusterFlags(command);
}

interface Rendered extends Installation {
  readonly authority: Authority | undefined;
  readonly previousAuthority: Authority | undefined;
  readonly removal: Advice | undefined;
}

async function render(flags: RenderFlags, installed: FlagValues | undefined, now: Date): Promise<Rendered> {
  const { image, tls, openshiftVersion, newAuthority = false } = flags;
  const { readClusterValues } = await import('./read-cluster.ts');
  const cluster = flags.fromCluster === true ? await readClusterValues(flags, now) : undefined;
  const kubernetesVersion = openshiftVersion ?? cluster?.kubernetesVersion;
  const previousAuthority = newAuthority ? cluster?.authority : undefined;
  const kept = newAuthority ? undefined : cluster?.authority;
  const authority = tls === 'generated' ? (kept ?? (await readOrCreateAuthority(flags, now))) : undefined;
  const { buildInstallation, InvalidInstallation } = await import('../../install/installation.ts');
  const build = flags.policy === true ? (await import('../../install/policy.ts')).buildPolicy : buildInstallation;
  try {
    const options = { ...flags, kubernetesVersion, authority, previousAuthority };
    // One Policy serves clusters with one replica and with two, so no annotation would be right in all.
    const annotations = flags.policy === true ? {} : { [RENDER_FLAGS_ANNOTATION]: formatFlags(flags) };
    const installation = build({ ...options, namespaceAnnotations: annotations });
    const before = installed && buildInstallation({ ...options, ...(installed as Partial<InstallationOptions>) });
    const removal = before && adviseRemoval(before, installation);
    const imageWarnings = checkImage(image).pinned ? [] : [`--image ${image} has no digest: ${DIGEST_REASON}`];
    const warnings = [...imageWarnings, ...installation.warnings];
    return { ...installation, authority, previousAuthority, warnings, removal };
  } catch (error) {
    if (!(error instanceof InvalidInstallation)) throw error;
    throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
  }
}

/** `oc apply` deletes no object that the output no longer has. */
function adviseRemoval(before: Installation, after: Installation): Advice | undefined {
  const names = new Set(listNames(after));
  const removed = listNames(before).filter((name) => !names.has(name));
  if (removed.length === 0) return undefined;
  const text = 'after the upgrade, delete the objects that it no longer needs';
  return advise(text, ['oc', 'delete', '-n', INSTALLED_NAME], ['--ignore-not-found', ...removed]);
}

function listNames({ files }: Installation): string[] {
  return files.map(({ kind, objectName }) => `${kind.toLowerCase()}/${objectName}`);
}

function assertNoConflict(flags: RenderFlags): void {
  const conflict = findConflict(flags);
  if (conflict !== undefined) throw new CliError(conflict, EXIT_CODE.usage);
}

async function writeDirectory(flags: RenderFlags, rendered: Rendered): Promise<RenderReport> {
  const { out, image, profile, tls, force } = flags;
  const { OWN_FILE_NAME } = await import('../../install/installation.ts');
  const { files, omittedObjects, failurePolicy, warnings, authority } = rendered;
  const names = files.map(({ name }) => name);
  // Ignores an unreadable directory here; prepareOutputDirectory reports it.
  const earlierNames = (await readdir(out).catch(() => [])).filter((name) => OWN_FILE_NAME.test(name)).sort();
  await prepareOutputDirectory(out, [...new Set([...earlierNames, ...names])], force === true);
  await writeOutputFiles(out, files);
  const removed = earlierNames.filter((name) => !names.includes(name));
  for (const name of removed) await rm(path.join(out, name));
  return {
    directory: out,
    files: files.map(({ name, kind, objectName, isPrivate }) => ({
      file: name,
      kind,
      name: objectName,
      secret: isPrivate,
    })),
    removed,
    bytes: files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0),
    gzipBytes: gzipSync(files.map(({ content }) => content).join('')).length,
    image,
    profile,
    failurePolicy,
    tls,
    authority: authority === undefined ? null : summarizeCertificate(authority.certificatePem),
    leftOut: omittedObjects,
    warnings,
  };
}

function findConflict(flags: RenderFlags): string | undefined {
  const { out, output, tls, days, caCertFile, caKeyFile, fromCluster, newAuthority = false, policy, profile } = flags;
  if (out === STDOUT && output !== 'text') {
    return `--output ${output} cannot be used with --out -, which prints the manifests`;
  }
  if (policy === true && (out !== STDOUT || tls !== 'service-ca' || profile !== 'fail-closed')) {
    return '--policy needs --out -, --tls service-ca and the profile fail-closed';
  }
  const hasAuthority = caCertFile !== undefined || caKeyFile !== undefined;
  if (newAuthority && fromCluster !== true) return '--new-authority needs --from-cluster';
  if (tls === 'service-ca' && (hasAuthority || newAuthority || days !== undefined)) {
    return '--days, --new-authority, --ca-cert-file and --ca-key-file cannot be used with --tls service-ca';
  }
  if (!hasAuthority) return undefined;
  if (caCertFile === undefined || caKeyFile === undefined)
    return '--ca-cert-file and --ca-key-file must be used together';
  if (fromCluster === true) return '--from-cluster reads the authority, too; leave out --ca-cert-file';
  return days === undefined ? undefined : '--days cannot be used with --ca-cert-file, which keeps its own expiry';
}

function createsAuthority({ tls, caCertFile, fromCluster }: RenderFlags): boolean {
  return tls === 'generated' && caCertFile === undefined && fromCluster !== true;
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

function parseImage(value: string): string {
  if (checkImage(value).valid) return value;
  throw new InvalidArgumentError(
    'Must be an image reference, such as registry.example.com/machineconfig-guard@sha256:….',
  );
}

function parseOutput(value: string): string {
  return value === STDOUT ? STDOUT : parseOutputDirectory(value);
}
