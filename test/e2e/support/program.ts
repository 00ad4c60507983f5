import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { runProgram } from '../../cli/run-program.ts';

/** The bundle. */
export const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
const CONTAINERFILE = fileURLToPath(new URL('../../../Containerfile', import.meta.url));

/**
 * Runs a command from its source, in this process, because a start of the bundle takes long. Returns its standard
 * output.
 *
 * @throws Error unless the exit code is 0
 */
export async function runProgramOk(...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await runProgram(args);
  if (exitCode === 0) return stdout;
  throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`);
}

/** The environment variables of the image. The tests run the guard with them, as a cluster does. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const variables = readFileSync(CONTAINERFILE, 'utf8').matchAll(/^ENV (\w+)="?([^"\n]+)"?$/gm);
  return Object.fromEntries([...variables].map(([, name, value]) => [name, value])) as Record<string, string>;
}
