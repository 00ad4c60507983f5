/**
 * Breaks the code as each row of promises.yaml says, in a copy of the repository, and runs the test of the row. Fails
 * if the test still passes, does not run, or if the change no longer applies.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import type { JsonTestResults } from 'vitest/node';
import { runCommand } from '../e2e/support/runner.ts';
import { copyRepository } from '../support/copy-repository.ts';
import { UsageError } from '../support/usage.ts';
import { applyChanges, type Promised, readPromises, splitTest, toPattern } from './promises.ts';

const HELP = `Breaks each promise of the guard in the code, and checks that its test notices.

Usage: npm run test:promises [-- --e2e --only TEXT]

Options:
  --e2e        the promises with end-to-end tests, too; those with nodes need root
  --only TEXT  the promises that contain this text
  --help       this text
`;

const E2E = 'test/e2e/';
const isEndToEnd = (promised: Promised) => splitTest(promised).file.startsWith(E2E);

async function runProgram(cwd: string, args: readonly string[]): Promise<string> {
  return await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 2 ** 30 }).then(() => '', String);
}

/** Runs the tests of rows in a copy of the repository. All are end-to-end tests, or none is. */
async function runTests(copy: string, rows: readonly Promised[]): Promise<JsonTestResults> {
  const tests = rows.map(splitTest);
  const isEndToEndRun = rows.some(isEndToEnd);
  if (isEndToEndRun) await runProgram(copy, ['node_modules/tsx/dist/cli.mjs', 'build/bundle.ts']);
  const reportFile = path.join(copy, 'report.json');
  rmSync(reportFile, { force: true });
  const output = await runProgram(copy, [
    'node_modules/vitest/vitest.mjs',
    'run',
    `--config=${isEndToEndRun ? 'vitest.e2e.config.ts' : 'vitest.config.ts'}`,
    '--reporter=json',
    `--outputFile=${reportFile}`,
    `--testNamePattern=${tests.map(({ title }) => toPattern(title)).join('|')}`,
    ...new Set(tests.map(({ file }) => file)),
  ]);
  if (!existsSync(reportFile)) throw new Error(`Vitest has written no report: ${output.slice(-1_000)}`);
  return JSON.parse(readFileSync(reportFile, 'utf8')) as JsonTestResults;
}

/** Returns `passed`, `failed`, or why the test of a row did not run. */
function findOutcome({ testResults }: JsonTestResults, row: Promised): string {
  const { file, title } = splitTest(row);
  const results = testResults.filter(({ name }) => name.endsWith(`/${file}`));
  const tests = results.flatMap(({ assertionResults }) => assertionResults);
  const matching = tests.filter((test) => new RegExp(toPattern(title)).test(test.title));
  const statuses = new Set(matching.map(({ status }) => status));
  if (statuses.has('failed')) return 'failed';
  return statuses.has('passed') ? 'passed' : `does not run: ${results.map(({ message }) => message).join('\n')}`;
}

async function findProblem(copy: string, row: Promised, unchanged: JsonTestResults): Promise<string | undefined> {
  const before = findOutcome(unchanged, row);
  if (before !== 'passed') return `before the change, the test ${before}`;
  const restore = applyChanges(row, copy);
  try {
    const after = findOutcome(await runTests(copy, [row]), row);
    return after === 'failed' ? undefined : `after the change, the test ${after}`;
  } finally {
    restore();
  }
}

/** Returns what is wrong with rows that are all end-to-end tests, or none. */
async function findProblems(rows: readonly Promised[], workers: number): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const copies = Array.from({ length: workers }, copyRepository);
  const unchanged = await runTests(copies[0] ?? '', rows);
  const problems: string[] = [];
  const rest = rows.values();
  const work = async (copy: string): Promise<void> => {
    for (const row of rest) {
      const problem = await findProblem(copy, row, unchanged).catch(String);
      console.log(`${problem === undefined ? 'noticed' : 'NOT NOTICED'}: ${row.broken} (${row.test})`);
      if (problem !== undefined) problems.push(`"${row.promise}": ${row.broken}: ${problem}`);
    }
  };
  await Promise.all(copies.map(work));
  for (const copy of copies) rmSync(copy, { recursive: true });
  return problems;
}

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: {
      e2e: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const selected = readPromises().filter((row) => (flags.e2e || !isEndToEnd(row)) && row.promise.includes(flags.only));
  if (selected.length === 0) throw new UsageError(`No promise contains "${flags.only}".`);
  const unit = selected.filter((row) => !isEndToEnd(row));
  // The end-to-end tests use all processor time.
  const failures = [
    ...(await findProblems(unit, availableParallelism())),
    ...(await findProblems(selected.filter(isEndToEnd), 1)),
  ];
  for (const failure of failures) console.log(`\n${failure}`);
  console.log(`\n${selected.length - failures.length} passed, ${failures.length} failed`);
  return failures.length === 0 ? 0 : 1;
}

await runCommand('test:promises', main);
