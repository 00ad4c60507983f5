import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { runProcess } from './process.ts';

/** The bundle. */
export const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));

/** @throws Error if the bundle was not built */
export function requireProgram() {
  if (!existsSync(PROGRAM)) throw new Error(`There is no ${PROGRAM}: run "npm run build" first.`);
}

/**
 * Runs a command of the bundle and returns its standard output.
 *
 * @throws Error unless the exit code is 0
 */
export async function runProgram(...args: readonly string[]) {
  requireProgram();
  const { exitCode, stdout, stderr } = await runProcess(process.execPath, [PROGRAM, ...args]);
  if (exitCode !== 0) throw new Error(`machineconfig-guard ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
  return stdout;
}
