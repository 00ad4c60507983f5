import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { availableReleases, findBinaries, NoControlPlane } from './control-plane/binaries.ts';
import type { Release } from './control-plane/releases.ts';
import { RELEASE_VARIABLE } from './support/run-binaries.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What the older releases are tested with besides: who may be deleted, and that no stale answer slips through. */
const ON_EVERY_RELEASE = ['test/e2e/verdicts/', 'test/e2e/race/', 'test/e2e/floor/without-a-pod'];

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** A step was ended by a signal; nothing more is to be started. */
class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }
}

/** Runs everything on the newest release and the cases of {@link ON_EVERY_RELEASE} on the others. True when all passed. */
async function main(): Promise<boolean> {
  const releases = await availableReleases();
  // All of them first: a build that is not possible should be said before ten minutes of tests, not after.
  for (const release of releases) await findBinaries(release, log);
  log('Building the guard …');
  if ((await run(['node_modules/tsx/dist/cli.mjs', 'build/bundle.ts'])) !== 0)
    throw new NoControlPlane('The guard does not build.');

  const reports = await mkdtemp(join(tmpdir(), 'mcg-e2e-'));
  const total = { passed: 0, failed: 0 };
  try {
    for (const [index, release] of releases.entries()) {
      const folders = index === 0 ? [] : ON_EVERY_RELEASE;
      const { passed, failed } = await test(release, folders, join(reports, `${release.kubernetes}.json`));
      log(`Kubernetes ${release.kubernetes}: ${passed} passed, ${failed} failed`);
      total.passed += passed;
      total.failed += failed;
    }
  } finally {
    await rm(reports, { recursive: true, force: true });
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total.passed > 0 && total.failed === 0;
}

async function test(release: Release, folders: readonly string[], report: string): Promise<Counts> {
  console.log(`\nKubernetes ${release.kubernetes} with the CRDs of OpenShift ${release.openshift}`);
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config=vitest.e2e.config.ts'];
  const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`];
  const exitCode = await run([...vitest, ...reporters, ...folders], { [RELEASE_VARIABLE]: release.kubernetes });
  const counts = await countsIn(report);
  // A file that cannot be loaded, a set-up that fails or a stray rejection counts no test as failed, but fails the run;
  // a run without a single test is no success either.
  const somethingElseFailed = counts.failed === 0 && (exitCode !== 0 || counts.passed === 0);
  return somethingElseFailed ? { ...counts, failed: 1 } : counts;
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function countsIn(report: string): Promise<Counts> {
  try {
    const json = JSON.parse(await readFile(report, 'utf8')) as { numPassedTests: number; numTotalTests: number };
    return { passed: json.numPassedTests, failed: json.numTotalTests - json.numPassedTests };
  } catch {
    return { passed: 0, failed: 0 };
  }
}

/** Runs a script of node to its end; a signal that reaches this process is handed on, and awaited like any other end. */
function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } });
    let interruption: NodeJS.Signals | undefined;
    const interrupt = (signal: NodeJS.Signals) => {
      interruption = signal;
      child.kill(signal);
    };
    process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
    child.once('error', reject);
    child.once('exit', (code) => {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      if (interruption !== undefined) reject(new Interrupted(interruption));
      else resolve(code ?? 1);
    });
  });
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  if (error instanceof Interrupted) {
    process.exitCode = 128 + constants.signals[error.signal];
  } else if (error instanceof NoControlPlane) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
