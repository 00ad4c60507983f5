import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { UsageError } from '../support/usage.ts';
import { BenchCluster } from './bench-cluster.ts';
import { readEnvironment } from './environment.ts';
import { type Report, writeReport, writeSummary } from './report.ts';
import type { Table } from './table.ts';

const BENCHES = new URL('benches/', import.meta.url);
const RESULTS = fileURLToPath(new URL('results', import.meta.url));

/**
 * The exports of a file in test/bench/benches, which is named after the bench. Every bench measures its baseline in the
 * same run.
 */
interface Bench {
  readonly question: string;
  /**
   * `isQuick`: run a few small cases, which show that the bench works. Their figures mean nothing.
   *
   * @throws Error if an answer that it measures is wrong
   */
  readonly run: (cluster: BenchCluster, isQuick: boolean) => Promise<readonly Table[]>;
}

const HELP = `Measures the guard against its baselines on a real API server, and writes what it finds to
test/bench/results as JSON and Markdown.

Usage: npm run bench [-- --only NAME --quick | --list | --summary]

Options:
  --only NAME  this bench; may be given more than once (default: all of them)
  --quick      few and small: to see whether it works; writes nothing
  --list       names the benches
  --summary    measures nothing: writes what was wanted and found, of all results, into docs/performance.md
  --help       this text

Example: npm run bench -- --only delete --quick
`;

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      summary: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (flags.summary) {
    writeSummary();
    return 0;
  }
  const names = (await readdir(BENCHES)).map((file) => file.replace('.ts', '')).toSorted();
  if (flags.list) {
    for (const name of names)
      process.stdout.write(`${name.padEnd(12)} ${(await loadBench(name)).question}\n`);
    return 0;
  }
  const unknown = flags.only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`There is no bench ${unknown}: it can be ${names.join(', ')}.`);
  const binaries = await prepareRun();
  for (const name of names) {
    if (flags.only.length > 0 && !flags.only.includes(name)) continue;
    const { question, run } = await loadBench(name);
    log(`${name}: ${question}`);
    const environment = readEnvironment(binaries.release);
    const startedAt = performance.now();
    const elapsedSeconds = () => Math.round((performance.now() - startedAt) / 1_000);
    const logProgress = (line: string) => log(`${String(elapsedSeconds()).padStart(5)} s  ${line}`);
    const guarded = await startGuardedCluster(binaries, { direct: true });
    let tables: readonly Table[];
    try {
      tables = await run(new BenchCluster(guarded, logProgress), flags.quick);
    } finally {
      await guarded.stop();
    }
    const command = `npm run bench -- --only ${name}${flags.quick ? ' --quick' : ''}`;
    const report: Report = { bench: name, question, command, environment, seconds: elapsedSeconds(), tables };
    writeReport(report, flags.quick ? undefined : RESULTS);
  }
  return 0;
}

async function loadBench(name: string): Promise<Bench> {
  return (await import(new URL(`${name}.ts`, BENCHES).href)) as Bench;
}

await runCommand('bench', main);
