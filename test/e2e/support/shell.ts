import { cp, mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { runProcess } from './process.ts';
import { debianProgram, PROGRAM } from './programs.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export type Shell = Awaited<ReturnType<typeof openShell>>;

/**
 * Opens a shell whose home folder has copies of docs/ and manifests/, and whose PATH has the program, `jq`, and
 * `kubectl` also as `oc`. It stays in the directory that a line changes to.
 */
export async function openShell({ directory: parent, binaries, apiServer }: ControlPlane) {
  const home = await mkdtemp(join(parent, 'home-'));
  const bin = join(home, '.local', 'bin');
  await mkdir(bin, { recursive: true });
  for (const folder of ['manifests', 'docs']) await cp(join(ROOT, folder), join(home, folder), { recursive: true });
  await symlink(dirname(PROGRAM), join(home, 'dist'));
  await symlink(PROGRAM, join(bin, 'machineconfig-guard'));
  for (const name of ['kubectl', 'oc']) await symlink(binaries.kubectl, join(bin, name));
  const jq = await debianProgram('jq', ['jq', 'libjq1', 'libonig5']);
  const env = {
    PATH: [bin, dirname(process.execPath), process.env['PATH'], dirname(jq.file)].join(delimiter),
    LD_LIBRARY_PATH: jq.env['LD_LIBRARY_PATH'],
    HOME: home,
    KUBECONFIG: apiServer.kubeconfig,
  };
  let directory = home;

  /** Runs a line to its end. It fails if one command of a pipe fails. */
  async function run(line: string) {
    const directoryFile = join(home, '.pwd');
    const script = `set -o pipefail; ${line}\nexitCode=$?; pwd >${directoryFile}; exit $exitCode`;
    const result = await runProcess('bash', ['-c', script], { cwd: directory, env });
    directory = (await readFile(directoryFile, 'utf8')).trimEnd();
    return result;
  }

  return { home, run };
}
