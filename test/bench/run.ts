import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { UsageError } from '../support/usage.ts';
import type { Bench } from './bench.ts';
import { readEnvironment } from './environment.ts';
import { formatReport, type Report, writeSummary } from './report.ts';

const BENCHES = new URL('benches/', import.meta.url);
const RESULTS = fileURLToPath(new URL('results', import.meta.url));

const HELP = `Measures the guard against its baselines on a real API server, and writes what it finds as JSON and Markdown.

Usage: npm run bench [-- --only NAME --quick --out DIR --kubernetes VERSION | --list | --summary]

Options:
  --only NAME           this bench; may be given more than once (default: all of them)
  --quick               few and small: to see whether it works; written only where --out says
  --out DIR             where to write NAME.json and NAME.md (default: test/bench/results)
  --kubernetes VERSION  1.33.0 (the default) or 1.31.0
  --list                names the benches
  --summary             measures nothing: writes what was wanted and found, of all results, into docs/performance.md
  --help                this text

Example: npm run bench -- --only floor --quick
`;

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      out: { type: 'string' },
      kubernetes: { type: 'string' },
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
  const names = await listBenches();
  if (flags.list) {
    for (const name of names) process.stdout.write(`${name.padEnd(12)} ${(await loadBench(name)).question}\n`);
    return 0;
  }
  const unknown = flags.only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new UsageError(`There is no bench ${unknown}: it can be ${names.join(', ')}.`);
  const binaries = await prepareRun(flags.kubernetes);
  const defaultOut = flags.quick ? undefined : RESULTS;
  const out = flags.out === undefined ? defaultOut : resolve(flags.out);
  for (const name of names) {
    if (flags.only.length > 0 && !flags.only.includes(name)) continue;
    const { question, run } = await loadBench(name);
    log(`${name}: ${question}`);
    const environment = readEnvironment(binaries.release);
    const startedAt = performance.now();
    const elapsedSeconds = () => Math.round((performance.now() - startedAt) / 1_000);
    const tables = await run({
      isQuick: flags.quick,
      binaries,
      log: (line) => log(`${String(elapsedSeconds()).padStart(5)} s  ${line}`),
    });
    const command = `npm run bench -- --only ${name}${flags.quick ? ' --quick' : ''}`;
    await publish({ bench: name, question, command, environment, seconds: elapsedSeconds(), tables }, out);
  }
  return 0;
}

async function publish(report: Report, out: string | undefined): Promise<void> {
  const markdown = formatReport(report);
  process.stdout.write(`\n${markdown}\n`);
  if (out === undefined) return;
  await mkdir(out, { recursive: true });
  await writeFile(join(out, `${report.bench}.json`), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(out, `${report.bench}.md`), markdown);
  log(`Written to ${join(out, report.bench)}.json and .md`);
}

async function listBenches(): Promise<readonly string[]> {
  const files = await readdir(BENCHES);
  return files.map((file) => file.replace('.ts', '')).toSorted();
}

async function loadBench(name: string): Promise<Bench> {
  return (await import(new URL(`${name}.ts`, BENCHES).href)) as Bench;
}

await runCommand('bench', main);
