import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { ControlPlane } from '../control-plane/control-plane.ts';
import { debianProgram } from './debian-program.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAM = join(ROOT, 'dist', 'machineconfig-guard.cjs');
const OC = fileURLToPath(new URL('oc', import.meta.url));

/** How a line ended, and what it said. */
export interface Typed {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A shell in which somebody works through a page of the documentation: in a copy of what the pages refer to, as the administrator of a
 * cluster, with the program, `oc`, `kubectl` and `jq` on the path. It stays in the directory that a line has changed to.
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

  static async open({ directory, kubectl, apiServer }: ControlPlane): Promise<Shell> {
    const home = await mkdtemp(join(directory, 'home-'));
    const bin = join(home, '.local', 'bin');
    await mkdir(bin, { recursive: true });
    for (const part of ['manifests', 'docs']) await cp(join(ROOT, part), join(home, part), { recursive: true });
    await symlink(join(ROOT, 'dist'), join(home, 'dist'));
    await symlink(PROGRAM, join(bin, 'machineconfig-guard'));
    await symlink(OC, join(bin, 'oc'));
    await symlink(kubectl, join(bin, 'kubectl'));
    const { file: jq, env } = await debianProgram('jq', ['jq', 'libjq1', 'libonig5']);
    const path = [bin, dirname(process.execPath), process.env['PATH'], dirname(jq)].join(delimiter);
    return new Shell(home, {
      PATH: path,
      LD_LIBRARY_PATH: env['LD_LIBRARY_PATH'],
      HOME: home,
      KUBECONFIG: apiServer.kubeconfig,
      OC_AUDIT_LOG: apiServer.auditLog,
      OC_POD_LOGS: join(directory, 'pods'),
    });
  }

  /** Goes back to where it was opened. */
  goHome(): void {
    this.#directory = this.home;
  }

  /** Runs a line to its end. A line that fails in the middle of a pipe has failed. */
  async type(line: string): Promise<Typed> {
    const pwd = join(this.home, '.pwd');
    const script = `set -o pipefail; ${line}\nexitCode=$?; pwd >${pwd}; exit $exitCode`;
    const child = spawn('bash', ['-c', script], {
      cwd: this.#directory,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    this.#directory = (await readFile(pwd, 'utf8')).trimEnd();
    return { exitCode, stdout, stderr };
  }
}
