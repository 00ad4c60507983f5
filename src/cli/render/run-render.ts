import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { AUTHORITY_DAYS, createAuthority } from '../../certificates/authority.ts';
import { withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../../client/output-directory.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
import type { Output } from '../../client/output/output.ts';
import { checkImage } from '../../install/image.ts';
import { parseOpenShiftVersion } from '../../install/kubernetes-version.ts';
import { buildInstallation, formatStream, type Installation, isOwnFile } from '../../install/installation.ts';
import { buildPolicy } from '../../install/policy.ts';
import { isGuardProfile } from '../../install/profiles.ts';
import { formatCommand, wrapText } from '../../client/output/text-format.ts';
import { readVersion } from '../../client/server-version.ts';
import { keepInstalled, readInstalled } from './installed-guard.ts';
import { assertNoConflict, type RenderFlags, STDOUT } from './render-flags.ts';
import { INSTALLED_NAME } from '../../api/paths.ts';

const DIGEST_REASON = 'a tag can move to another image, and mirrors of disconnected clusters need a digest';
const NO_IMAGE =
  '--image is needed: the cluster does not show the image of a guard. If you installed an overlay, apply it again';
const NEW_AUTHORITY_NOTE = 'created a new authority. To upgrade an installed guard, use --from-cluster.';
const ROTATION_NOTE =
  'created a new authority. The API servers trust both until you apply the output without --new-authority.';

export async function runRender(given: RenderFlags, isGiven: (name: string) => boolean, output: Output): Promise<void> {
  const now = new Date();
  assertNoConflict(given, isGiven);
  const cluster = given.fromCluster === true ? await readCluster(given, isGiven, now, output) : undefined;
  const flags = cluster?.flags ?? given;
  assertNoConflict(flags, isGiven);
  const { image, tls, profile, out, policy, openshiftVersion, newAuthority = false } = flags;
  const hasGuard = isGuardProfile(profile);
  if (hasGuard && image === undefined) {
    throw new CliError(NO_IMAGE, EXIT_CODE.usage);
  }
  const previousAuthority = newAuthority ? cluster?.authority : undefined;
  const kept = newAuthority ? undefined : cluster?.authority;
  const needsAuthority = hasGuard && tls === 'generated';
  const authority = needsAuthority ? (kept ?? (await createAuthority({ days: AUTHORITY_DAYS, now }))) : undefined;
  const options = {
    ...flags,
    kubernetesVersion: openshiftVersion === undefined ? cluster?.version : parseOpenShiftVersion(openshiftVersion),
    authority,
    previousAuthority,
  };
  const installation = build(policy === true ? buildPolicy : buildInstallation, options);
  for (const note of cluster?.notes ?? []) output.printMessage(note);
  if (image !== undefined && !checkImage(image).pinned) {
    output.printMessage(`warning: the image ${image} has no digest: ${DIGEST_REASON}`);
  }
  for (const warning of installation.warnings) output.printMessage(`warning: ${warning}`);
  if (cluster?.before !== undefined) {
    const removal = adviseRemoval(buildInstallation({ ...options, ...(cluster.before as object) }), installation);
    if (removal !== undefined) output.printMessage(removal);
  }
  if (previousAuthority !== undefined) output.printMessage(ROTATION_NOTE);
  if (out === STDOUT) {
    for (const object of installation.omittedObjects) output.printMessage(`omitted ${object}`);
    if (needsAuthority && given.fromCluster !== true) output.printMessage(NEW_AUTHORITY_NOTE);
    output.print(formatStream(installation.files));
    return;
  }
  await writeDirectory(flags, installation, output);
}

async function readCluster(given: RenderFlags, isGiven: (name: string) => boolean, now: Date, output: Output) {
  return await withKubeApi(given, { name: 'render', output }, async (api) => {
    const version = await readVersion(api);
    if (isGuardProfile(given.profile)) return { version, ...(await keepInstalled(api, given, isGiven, now)) };
    const installed = given.profile === 'monitoring' ? await readInstalled(api) : undefined;
    const flags = { ...given, tls: installed?.flags['tls'] ?? given.tls } as RenderFlags;
    return { version, flags, notes: [], before: undefined, authority: undefined };
  });
}

function build(builder: typeof buildInstallation, options: Parameters<typeof builder>[0]): Installation {
  try {
    return builder(options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
  }
}

/** `oc apply` deletes no object that the output no longer has. */
function adviseRemoval(before: Installation, after: Installation): Advice | undefined {
  const names = new Set(listNames(after));
  const removed = listNames(before).filter((name) => !names.has(name));
  if (removed.length === 0) return undefined;
  const text = 'after the upgrade, delete the objects that it no longer needs';
  return advise(text, shell`oc delete -n ${INSTALLED_NAME} --ignore-not-found ${removed.map(verbatim)}`);
}

function listNames({ files }: Installation): string[] {
  return files.map(({ kind, objectName }) => `${kind.toLowerCase()}/${objectName}`);
}

async function writeDirectory(
  flags: RenderFlags,
  { files, omittedObjects }: Installation,
  output: Output,
): Promise<void> {
  const { out, profile, force } = flags;
  const names = files.map(({ name }) => name);
  // Ignores an unreadable directory here; prepareOutputDirectory reports it.
  const present = await readdir(out).catch(() => []);
  const earlierNames = present.filter((name) => isOwnFile(name, profile)).sort();
  await prepareOutputDirectory(out, [...new Set([...earlierNames, ...names])], force === true);
  await writeOutputFiles(out, files);
  const removed = earlierNames.filter((name) => !names.includes(name));
  for (const name of removed) await rm(path.join(out, name));
  const steps = adviseNext(flags, present.length > earlierNames.length);
  const lines = [
    `Wrote ${files.length} files to ${out}:`,
    ...files.map(({ name, isPrivate }) => `  ${name}${isPrivate ? ' (private key, mode 0600)' : ''}`),
    ...removed.map((file) => `  removed ${file}`),
    ...omittedObjects.flatMap((object) => wrapText(`Omitted ${object}.`, output.format.width)),
    '',
    'Next:',
    ...steps.flatMap((step) => formatCommand(output.format, step)),
  ];
  output.print(`${lines.join('\n')}\n`);
}

/** What to do with the files, in its order. Those in `openshift/` are for an installer. */
function adviseNext({ out, image, fromCluster, openshiftVersion }: RenderFlags, hasOthers: boolean): readonly Advice[] {
  const text = 'then verify that the guard denies a deletion';
  const verify = image === undefined ? [] : [advise(text, shell`machineconfig-guard verify --wait`)];
  const directory = path.resolve(out);
  if (path.basename(directory) === 'openshift') {
    const parent = verbatim(path.dirname(directory));
    const version = verbatim(openshiftVersion ?? 'VERSION');
    const check = shell`machineconfig-guard check manifests ${parent} --openshift-version ${version}`;
    return [
      advise('check what the installer gets', check),
      advise('install the cluster, such as in the parent directory with', shell`openshift-install agent create image`),
      ...verify,
    ];
  }
  // A new cluster must not get the keys of a running one.
  const copy =
    fromCluster === true
      ? []
      : [advise('for a new cluster, copy the files into openshift/ of the installer, then create the image')];
  if (hasOthers)
    return [...copy, advise('for a running cluster, render into an empty directory, because this one has other files')];
  const diff = advise('see what the upgrade changes', shell`oc diff -f ${verbatim(out)}`);
  const target = fromCluster === true ? '' : ' that has no guard; to upgrade one, use --from-cluster';
  const apply = advise(`for a running cluster${target}`, shell`oc apply -f ${verbatim(out)}`);
  return [...copy, ...(fromCluster === true ? [diff] : []), apply, ...verify];
}
