import { cp, mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { ControlPlane } from '../control-plane/control-plane.ts';
import { runProcess } from './process.ts';
import { debianProgram, PROGRAM } from './programs.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * A shell whose home folder has copies of docs/ and manifests/, and whose PATH has the program, `jq`, and `kubectl`
 * also as `oc`. It stays in the directory that a line changes to.
 */
export class Shell {
  readonly home: string;
  readonly #env: NodeJS.ProcessEnv;
  #directory: string;

  private constructor(home: string, env: NodeJS.ProcessEnv) {
    this.home = home;
    this.#directory = home;
    this.#env = env;
  }

  static async open({ directory, binaries, apiServer }: ControlPlane) {
    const home = await mkdtemp(join(directory, 'home-'));
    const bin = join(home, '.local', 'bin');
    await mkdir(bin, { recursive: true });
    for (const folder of ['manifests', 'docs']) await cp(join(ROOT, folder), join(home, folder), { recursive: true });
    await symlink(dirname(PROGRAM), join(home, 'dist'));
    await symlink(PROGRAM, join(bin, 'machineconfig-guard'));
    for (const name of ['kubectl', 'oc']) await symlink(binaries.kubectl, join(bin, name));
    const { file: jq, env } = await debianProgram('jq', ['jq', 'libjq1', 'libonig5']);
    return new Shell(home, {
      PATH: [bin, dirname(process.execPath), process.env['PATH'], dirname(jq)].join(delimiter),
      LD_LIBRARY_PATH: env['LD_LIBRARY_PATH'],
      HOME: home,
      KUBECONFIG: apiServer.kubeconfig,
    });
  }

  /** Changes to the directory in which the shell was opened. */
  goHome() {
    this.#directory = this.home;
  }

  /** Runs a line to its end. It fails if one command of a pipe fails. */
  async run(line: string) {
    const directoryFile = join(this.home, '.pwd');
    const script = `set -o pipefail; ${line}\nexitCode=$?; pwd >${directoryFile}; exit $exitCode`;
    const result = await runProcess('bash', ['-c', script], { cwd: this.#directory, env: this.#env });
    this.#directory = (await readFile(directoryFile, 'utf8')).trimEnd();
    return result;
  }
}
