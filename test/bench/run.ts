import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { Usage } from '../support/usage.ts';
import type { Bench } from './bench.ts';
import { environment } from './environment.ts';
import { asMarkdown, type Report } from './report.ts';
import { writeSummary } from './wanted.ts';

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
  const names = await benchNames();
  if (flags.list) {
    for (const name of names) process.stdout.write(`${name.padEnd(12)} ${(await load(name)).question}\n`);
    return 0;
  }
  const unknown = flags.only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Usage(`There is no bench ${unknown}: it can be ${names.join(', ')}.`);
  const binaries = await prepareRun(flags.kubernetes);
  const out = flags.out === undefined ? (flags.quick ? undefined : RESULTS) : resolve(flags.out);
  for (const name of flags.only.length === 0 ? names : names.filter((one) => flags.only.includes(one))) {
    const { question, run } = await load(name);
    log(`${name}: ${question}`);
    const around = await environment(binaries.release);
    const begun = performance.now();
    const elapsed = () => (performance.now() - begun) / 1_000;
    const tables = await run({
      quick: flags.quick,
      binaries,
      log: (line) => log(`${elapsed().toFixed(0).padStart(5)} s  ${line}`),
    });
    const command = `npm run bench -- --only ${name}${flags.quick ? ' --quick' : ''}`;
    await publish({ bench: name, question, command, environment: around, seconds: Math.round(elapsed()), tables }, out);
  }
  return 0;
}

async function publish(report: Report, out: string | undefined): Promise<void> {
  const markdown = asMarkdown(report);
  process.stdout.write(`\n${markdown}\n`);
  if (out === undefined) return;
  await mkdir(out, { recursive: true });
  await writeFile(join(out, `${report.bench}.json`), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(out, `${report.bench}.md`), markdown);
  log(`Written to ${join(out, report.bench)}.json and .md`);
}

async function benchNames(): Promise<readonly string[]> {
  const files = await readdir(BENCHES);
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort();
}

async function load(name: string): Promise<Bench> {
  const module = (await import(new URL(`${name}.ts`, BENCHES).href)) as { readonly default: Bench };
  return module.default;
}

await runCommand('bench', main);
