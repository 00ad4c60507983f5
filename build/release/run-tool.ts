import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

export const ROOT = path.join(import.meta.dirname, '..', '..');

/** Enough for the output of npm and buildah. */
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;
const MAX_ERROR_LINES = 15;

/**
 * Runs a program in the repository, or in `cwd`, and returns its standard output.
 * @throws Error with the last lines of its output, or if it is not installed
 */
export async function runTool(program: string, args: readonly string[], cwd = ROOT): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd, maxBuffer: MAX_OUTPUT_BYTES });
    return stdout;
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (code === 'ENOENT') {
      throw new Error(`${program} is not installed (Debian: apt-get install ${program})`, { cause: error });
    }
    const output = `${stdout}${stderr}`.trimEnd().split('\n').slice(-MAX_ERROR_LINES).join('\n');
    throw new Error(`${program} failed:\n${output}`, { cause: error });
  }
}
