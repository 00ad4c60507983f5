import { fileURLToPath } from 'node:url';
import { describeUsageError } from '../../support/usage.ts';
import { findBinaries } from '../control-plane/binaries.ts';
import { MissingControlPlaneError } from '../control-plane/go-build.ts';
import { selectRelease } from '../control-plane/releases.ts';
import { runOk } from './process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Standard output is for results. */
export function log(line: string) {
  process.stderr.write(`${line}\n`);
}

/** Finds the newest binaries and builds dist/, so that a measurement uses the same bundle as a cluster. */
export async function prepareRun() {
  const binaries = await runBinaries();
  await runOk('npm', ['run', '--silent', 'build'], { cwd: ROOT });
  return binaries;
}

/** Sets the exit code: that of `main`, 2 after wrong usage, or 1 without a control plane. */
export async function runCommand(name: string, main: () => Promise<number>) {
  try {
    process.exitCode = await main();
  } catch (error) {
    const usage = describeUsageError(error);
    if (usage !== undefined) {
      log(`${usage} See: npm run ${name} -- --help`);
      process.exitCode = 2;
    } else if (error instanceof MissingControlPlaneError) {
      log(error.message);
      process.exitCode = 1;
    } else {
      throw error;
    }
  }
}

/** `test/e2e/run.ts` names the Kubernetes release of a test run in this variable. */
export const RELEASE_VARIABLE = 'MCG_E2E_KUBERNETES';
/** `test/e2e/run.ts --long` sets this variable to 1. */
export const LONG_VARIABLE = 'MCG_E2E_LONG';

/** Whether tests that have a short and a long version run the long one. */
export const IS_LONG = process.env[LONG_VARIABLE] === '1';

/** The binaries of the release of this test run, or of the newest release if `run.ts` did not start it. */
export async function runBinaries() {
  return findBinaries(selectRelease(RELEASE_VARIABLE, process.env[RELEASE_VARIABLE]), log);
}
