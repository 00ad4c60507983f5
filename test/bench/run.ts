import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { UsageError } from '../support/usage.ts';
import { BenchCluster } from './bench-cluster.ts';
import { readEnvironment } from './environment.ts';
import { writeReport } from './report.ts';
import type { Table } from './table.ts';

const BENCHES = new URL('benches/', import.meta.url);
const RESULTS = fileURLToPath(new URL('results', import.meta.url));

/** The exports of a file in test/bench/benches, which is named after the bench. */
interface Bench {
  readonly question: string;
  /** @throws Error if an answer is wrong */
  readonly run: (cluster: BenchCluster, isQuick: boolean) => Promise<readonly Table[]>;
}

const HELP = `Compares the guard with baselines on a real API server. Writes the results to test/bench/results.

Usage: npm run bench [-- --only NAME --quick]

Options:
  --help       print this text
  --only NAME  run this bench; can be repeated (default: all)
  --quick      run small cases whose figures mean nothing, and write nothing

Example: npm run bench -- --only delete --quick
`;

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const names = (await readdir(BENCHES)).map((file) => file.replace('.ts', '')).toSorted();
  const unknown = flags.only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new UsageError(`There is no bench ${unknown}.`);
  const { release } = await prepareRun();
  for (const name of names) {
    if (flags.only.length > 0 && !flags.only.includes(name)) continue;
    const { question, run } = await loadBench(name);
    log(`${name}: ${question}`);
    const environment = readEnvironment(release);
    const startedAt = performance.now();
    const elapsedSeconds = () => Math.round((performance.now() - startedAt) / 1_000);
    const logProgress = (line: string) => log(`${String(elapsedSeconds()).padStart(5)} s  ${line}`);
    const guarded = await startGuardedCluster({ direct: true });
    let tables: readonly Table[];
    try {
      tables = await run(new BenchCluster(guarded, logProgress), flags.quick);
    } finally {
      await guarded.stop();
    }
    const command = `npm run bench -- --only ${name}${flags.quick ? ' --quick' : ''}`;
    const seconds = elapsedSeconds();
    writeReport({ bench: name, question, command, environment, seconds, tables }, flags.quick ? undefined : RESULTS);
  }
  return 0;
}

async function loadBench(name: string): Promise<Bench> {
  return (await import(new URL(`${name}.ts`, BENCHES).href)) as Bench;
}

await runCommand('bench', main);
