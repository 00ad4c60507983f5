import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Authority, createAuthority } from '../../certificates/authority.ts';
import { MAX_DAYS } from '../../certificates/key-pair.ts';
import { summarizeCertificate } from '../../client/certificate-summary.ts';
import { withKubeApi } from '../../client/with-kube-api.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../../client/output-directory.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import type { Output } from '../../client/output/output.ts';
import { checkImage } from '../../install/image.ts';
import {
  buildInstallation,
  formatStream,
  type Installation,
  type InstallationOptions,
  InvalidInstallation,
  isOwnFile,
} from '../../install/installation.ts';
import { buildPolicy } from '../../install/policy.ts';
import { isGuardProfile } from '../../install/profiles.ts';
import { INSTALLED_NAME } from '../../kube/api-paths.ts';
import { listManifestWarnings } from '../check/manifests/check-manifests.ts';
import { formatRenderReport, type RenderReport } from './format-report.ts';
import { keepInstalled, readInstalled, readVersion } from './installed-guard.ts';
import { assertNoConflict, type RenderFlags, STDOUT } from './render-flags.ts';

const DIGEST_REASON = 'a tag can move to another image, and mirrors of disconnected clusters need a digest';
const NEW_AUTHORITY_NOTE = 'Created a new authority. To upgrade an installed guard, use --from-cluster.';
const ROTATION_NOTE =
  'Created a new authority. The API servers trust both until you apply the output without --new-authority.';

export async function runRender(given: RenderFlags, isGiven: (name: string) => boolean, output: Output): Promise<void> {
  const { commands } = output.format;
  const print = (note: string | Advice): void => {
    output.printNote(`${commands.program}: ${typeof note === 'string' ? note : commands.toClause(note)}`);
  };
  const now = new Date();
  const cluster = given.fromCluster === true ? await readCluster(given, isGiven, now) : undefined;
  const flags = cluster?.flags ?? given;
  assertNoConflict(flags, isGiven);
  const { image, tls, profile, out, policy, openshiftVersion, newAuthority = false } = flags;
  const hasGuard = isGuardProfile(profile);
  if (hasGuard && image === undefined) {
    throw new CliError('--image is needed: the cluster has no guard whose image could be kept', EXIT_CODE.usage);
  }
  const previousAuthority = newAuthority ? cluster?.authority : undefined;
  const kept = newAuthority ? undefined : cluster?.authority;
  const needsAuthority = hasGuard && tls === 'generated';
  const authority = needsAuthority ? (kept ?? (await createAuthority({ days: MAX_DAYS, now }))) : undefined;
  const options: InstallationOptions = {
    ...flags,
    kubernetesVersion: openshiftVersion ?? cluster?.version,
    authority,
    previousAuthority,
  };
  const installation = build(policy === true ? buildPolicy : buildInstallation, options);
  for (const note of cluster?.notes ?? []) print(note);
  const isPinned = image === undefined || checkImage(image).pinned;
  const warnings = [
    ...(isPinned ? [] : [`--image ${image} has no digest: ${DIGEST_REASON}`]),
    ...installation.warnings,
  ];
  for (const warning of warnings) print(`warning: ${warning}`);
  if (cluster?.before !== undefined) {
    const removal = adviseRemoval(buildInstallation({ ...options, ...(cluster.before as object) }), installation);
    if (removal !== undefined) print(removal);
  }
  if (previousAuthority !== undefined) output.printNote(ROTATION_NOTE);
  if (out === STDOUT) {
    for (const object of installation.omittedObjects) output.printNote(`Omitted ${object}.`);
    if (needsAuthority && given.fromCluster !== true) output.printNote(NEW_AUTHORITY_NOTE);
    output.print(formatStream(installation.files));
    return;
  }
  const report = await writeDirectory(flags, installation, authority, warnings);
  output.printReport(report, formatRenderReport(output.format, report));
  const problems = await listManifestWarnings(out).catch((error: Error) => [error.message]);
  for (const problem of problems)
    print(`warning: ${typeof problem === 'string' ? problem : commands.toClause(problem)}`);
}

async function readCluster(given: RenderFlags, isGiven: (name: string) => boolean, now: Date) {
  return await withKubeApi(given, 'machineconfig-guard/render', async (api) => {
    const version = await readVersion(api);
    if (isGuardProfile(given.profile)) return { version, ...(await keepInstalled(api, given, isGiven, now)) };
    const installed = given.profile === 'monitoring' ? await readInstalled(api) : undefined;
    const flags = { ...given, tls: installed?.flags.tls ?? given.tls } as RenderFlags;
    return { version, flags, notes: [], before: undefined, authority: undefined };
  });
}

function build(builder: typeof buildInstallation, options: InstallationOptions): Installation {
  try {
    return builder(options);
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

async function writeDirectory(
  { out, image, profile, tls, force }: RenderFlags,
  { files, omittedObjects, failurePolicy }: Installation,
  authority: Authority | undefined,
  warnings: readonly string[],
): Promise<RenderReport> {
  const names = files.map(({ name }) => name);
  // Ignores an unreadable directory here; prepareOutputDirectory reports it.
  const present = await readdir(out).catch(() => []);
  const earlierNames = present.filter((name) => isOwnFile(name, profile)).sort();
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
    otherFiles: present.length - earlierNames.length,
    bytes: files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0),
    gzipBytes: gzipSync(files.map(({ content }) => content).join('')).length,
    image: image ?? null,
    profile,
    failurePolicy,
    tls: isGuardProfile(profile) ? tls : null,
    authority: authority === undefined ? null : summarizeCertificate(authority.certificatePem),
    leftOut: omittedObjects,
    warnings,
  };
}
