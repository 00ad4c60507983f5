import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { cachePath, fillCache } from '../control-plane/cache.ts';
import { goBuild, requireGo } from '../control-plane/go-build.ts';
import { downloadModule } from '../control-plane/module-files.ts';
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

const run = promisify(execFile);

/**
 * The folder with `machine-config-controller`, `machine-config-server`, `templates` and `manifests` of a release: from
 * the cache, or built with Go. The version of the module and its checksum pin the source. Its own go.sum and Go's
 * checksum database pin the dependencies.
 *
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findOperator(release: OperatorRelease, log: (line: string) => void): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([release, PROGRAMS, FOLDERS, FLAGS, PATCH]));
  const directory = cachePath('operator', `${release.openshift}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(directory)) return directory;
  await requireGo('There is no Machine Config Operator to run');
  log(`Building the Machine Config Operator ${release.openshift}, once: about 4 minutes on two cores.`);
  await fillCache(directory, async (unfinished, reaper) => {
    const source = join(unfinished, 'source');
    await copySource(release, source);
    for (const [index, name] of PROGRAMS.entries()) {
      log(`[${index + 1}/${PROGRAMS.length}] ${name} …`);
      const build = { module: source, package: `./cmd/${name}`, output: join(unfinished, name) };
      await goBuild({ ...build, ldflags: '-s -w', flags: FLAGS, reaper });
    }
    for (const folder of FOLDERS) await rename(join(source, folder), join(unfinished, folder));
    await rm(source, { recursive: true });
  });
  return directory;
}

/** Go applies the replacements of a go.mod only to the main module, so the module is copied and built in its folder. */
async function copySource({ version, edits }: OperatorRelease, directory: string) {
  // Folders of the module cache are read-only.
  const source = await downloadModule(`${MODULE}@${version}`);
  await run('cp', ['--recursive', '--no-preserve=mode', source, directory]);
  // Go removes most of it from a module.
  await rm(join(directory, 'vendor'), { recursive: true });
  if (edits.length > 0) await run('go', ['mod', 'edit', ...edits], { cwd: directory });
  const file = join(directory, PATCH.file);
  const text = await readFile(file, 'utf8');
  if (!text.includes(PATCH.from)) throw new Error(`${file} of ${version} does not contain ${PATCH.from}`);
  await writeFile(file, text.replace(PATCH.from, PATCH.to));
}
