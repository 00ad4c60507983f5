import { findBinaries } from '../control-plane/binaries.ts';
import { log, selectRelease } from './runner.ts';

/** `test/e2e/run.ts` names the Kubernetes release of a test run in this variable. */
export const RELEASE_VARIABLE = 'MCG_E2E_KUBERNETES';
/** `test/e2e/run.ts --long` sets this variable to 1. */
export const LONG_VARIABLE = 'MCG_E2E_LONG';

/** Whether tests that have a short and a long version run the long one. */
export const IS_LONG = process.env[LONG_VARIABLE] === '1';

/** The binaries of the release of this test run, or of the newest release if `run.ts` did not start it. */
export async function runBinaries() {
  return findBinaries(await selectRelease(RELEASE_VARIABLE, process.env[RELEASE_VARIABLE]), log);
}
