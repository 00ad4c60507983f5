import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { cachePath } from '../control-plane/cache.ts';
import { findGoPrograms, type Log } from '../control-plane/go-build.ts';
import { copyModule } from '../control-plane/module-files.ts';
import { runOk } from '../support/process.ts';
import type { OperatorRelease } from './operator-releases.ts';

const MODULE = 'github.com/openshift/machine-config-operator';
const PROGRAMS = ['machine-config-controller', 'machine-config-server'];
/** Read by the programs when they run. */
const FOLDERS = ['templates', 'manifests'];
const FLAGS = ['-mod=mod', '-tags=containers_image_openpgp'];
/** The folder of the token within the working directory of the machine-config-server. */
export const TOKEN_FOLDER = 'bootstrap-token';
/**
 * The server reads the token for its answers from a fixed path. The build makes it relative to the working directory.
 * A mount at the fixed path would need root, or user namespaces, which many machines forbid.
 */
const PATCH = {
  file: 'pkg/server/cluster_server.go',
  from: '"/etc/mcs/bootstrap-token"',
  to: `"${TOKEN_FOLDER}"`,
};

/**
 * The folder with `machine-config-controller`, `machine-config-server`, `templates` and `manifests` of a release: from
 * the cache, or built with Go. The version of the module and its checksum pin the source. Its own go.sum and Go's
 * checksum database pin the dependencies.
 *
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findOperator(release: OperatorRelease, log: Log): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([release, PROGRAMS, FOLDERS, FLAGS, PATCH]));
  return findGoPrograms({
    directory: cachePath('operator', `${release.openshift}-${hash.digest('hex').slice(0, 16)}`),
    what: `Machine Config Operator ${release.openshift}`,
    programs: PROGRAMS.map((name) => ({ name, package: `./cmd/${name}` })),
    prepare: (module) => copySource(release, module),
    folders: FOLDERS,
    flags: FLAGS,
    log,
  });
}

async function copySource({ version, edits }: OperatorRelease, directory: string) {
  await copyModule(`${MODULE}@${version}`, directory);
  // Go removes most of it from a module.
  await rm(join(directory, 'vendor'), { recursive: true });
  if (edits.length > 0) await runOk('go', ['mod', 'edit', ...edits], { cwd: directory });
  const file = join(directory, PATCH.file);
  const text = await readFile(file, 'utf8');
  if (!text.includes(PATCH.from)) throw new Error(`${file} of ${version} does not contain ${PATCH.from}`);
  await writeFile(file, text.replace(PATCH.from, PATCH.to));
}
