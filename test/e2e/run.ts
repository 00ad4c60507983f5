import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findBinaries } from './control-plane/binaries.ts';
import { MissingControlPlaneError } from './control-plane/go-build.ts';
import { PROCESS_VARIABLE } from './control-plane/free-ports.ts';
import { selectRelease } from './control-plane/releases.ts';
import { UsageError } from '../support/usage.ts';
import { findNodeFiles } from './node/node-cluster.ts';
import { requireMachines } from './operator/machines/machine-programs.ts';
import { findOperator, OPERATOR_VARIABLE, selectOperator } from './operator/operator-binaries.ts';
import { log, LONG_VARIABLE, RELEASE_VARIABLE, runCommand } from './support/runner.ts';
import { selectTests } from './test-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--config=vitest.e2e.config.ts'];

const HELP = `Runs the guard against a real API server.

Usage: npm run test:e2e [-- --kubernetes VERSION --long --only TEXT FILE...]

Options:
  --kubernetes VERSION  of the API server: 1.37.2, 1.33.0 (default), 1.31.0 or 1.27.4
  --long                the long versions of the tests that have one, and *.long.test.ts, such as floods
  --operator VERSION    the Machine Config Operator of the tests in test/e2e/operator: 4.20 (default), 4.19 or 4.15
  --only TEXT           the tests whose name contains this text
  --help                this text

Tests of pods need root and Debian packages for real nodes. Tests of the real operator need Go, or its programs in the
cache, and its machines need root or user namespaces. If something is missing, the last lines say which tests did not
run.

FILE is a folder or a file of tests.
Examples:
  npm run test:e2e -- --kubernetes 1.31.0 test/e2e/verdicts
  npm run test:e2e -- --operator 4.15 test/e2e/operator
`;

/** Aborts when a signal interrupts this process. */
const interruption = new AbortController();
/** As a shell reports Ctrl-C. */
const INTERRUPTED_EXIT_CODE = 130;

async function main(): Promise<number> {
  const { values: flags, positionals: files } = parseArgs({
    allowPositionals: true,
    options: {
      kubernetes: { type: 'string' },
      long: { type: 'boolean', default: false },
      only: { type: 'string' },
      operator: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  for (const file of files) {
    if (Object.values(selectTests([file], flags.long)).flat().length === 0)
      throw new UsageError(`No test file${flags.long ? '' : ' without --long'} has ${file} in its path.`);
  }
  const operator = selectOperator('--operator', flags.operator);
  const release = selectRelease('--kubernetes', flags.kubernetes);
  // Before any test, because a build takes minutes and can fail.
  await findBinaries(release, log);
  log('Building the guard …');
  const buildExitCode = await runNode(['node_modules/tsx/dist/cli.mjs', 'build/bundle.ts']);
  if (buildExitCode !== 0) return 1;

  const env = {
    ...(flags.long && { [LONG_VARIABLE]: '1' }),
    [OPERATOR_VARIABLE]: operator.openshift,
    [RELEASE_VARIABLE]: release.kubernetes,
    [PROCESS_VARIABLE]: '0',
  };
  const only = flags.only === undefined ? [] : ['--testNamePattern', flags.only];
  const { nodeTests, bootstrapTests, operatorTests, machineTests, otherTests } = selectTests(files, flags.long);
  // Built now, because otherwise the first test would wait for minutes.
  const pods = await prepare('pods', nodeTests, () => findNodeFiles(release, log));
  const machines = await prepare('machines with the real machine-config-daemon', machineTests, requireMachines);
  const ofOperator = [...bootstrapTests, ...operatorTests, ...machines.files];
  const realOperator = await prepare('the real operator', ofOperator, () => findOperator(operator, log));
  const isOfBootstrap = (file: string): boolean => bootstrapTests.includes(file);
  console.log(`\nKubernetes ${release.kubernetes} with the CRDs of OpenShift ${release.openshift}`);
  const runs = [
    // The nodes are done long before the others.
    { projects: ['nodes', 'bootstrap'], files: [...pods.files, ...realOperator.files.filter(isOfBootstrap)] },
    { projects: ['operator'], files: realOperator.files.filter((file) => !isOfBootstrap(file)) },
    { projects: ['guarded', 'installed'], files: otherTests },
  ].filter((run) => run.files.length > 0);
  // All at the same time, because the tests with nodes and with the operator wait most of it.
  const exitCodes = await Promise.all(
    runs.map((run) => {
      const projects = run.projects.map((project) => `--project=${project}`);
      return runNode([...VITEST, ...only, ...projects, ...run.files], env);
    }),
  );
  for (const { notRun } of [pods, machines, realOperator]) if (notRun !== undefined) console.log(notRun);
  const failed = exitCodes.filter((exitCode) => exitCode !== 0).length;
  log(failed === 0 ? 'All runs of Vitest passed.' : `${failed} of ${exitCodes.length} runs of Vitest failed.`);
  return exitCodes.length > 0 && failed === 0 ? 0 : 1;
}

/** Builds what test files need. Returns the files that this machine can run, and why it cannot run them. */
async function prepare(
  what: string,
  files: readonly string[],
  build: () => Promise<unknown>,
): Promise<{ readonly files: readonly string[]; readonly notRun?: string }> {
  if (files.length === 0) return { files };
  try {
    await build();
    return { files };
  } catch (error) {
    if (!(error instanceof MissingControlPlaneError)) throw error;
    const count = files.length === 1 ? '1 file' : `${files.length} files`;
    return { files: [], notRun: `not run: the tests of ${what} in ${count}. ${error.message}` };
  }
}

/**
 * Runs a script with node and returns its exit code.
 * @throws AbortError if a signal interrupted this process; the script ends, too
 */
async function runNode(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
    signal: interruption.signal,
  });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  return exitCode ?? 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interruption.abort());
}

await runCommand('test:e2e', async () => {
  try {
    return await main();
  } catch (error) {
    if (interruption.signal.aborted) return INTERRUPTED_EXIT_CODE;
    throw error;
  }
});
