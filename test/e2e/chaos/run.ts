import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { readEnvironment } from '../../bench/environment.ts';
import { UsageError } from '../../support/usage.ts';
import { log, prepareRun, runCommand } from '../support/runner.ts';
import { FAULTS } from './faults.ts';
import { problemsOf, suffer } from './support/ordeal.ts';
import { tableOf, withTable, type Row } from './support/page.ts';
import { Stage } from './support/stage.ts';

const PAGE = fileURLToPath(new URL('../../../docs/failure-modes.md', import.meta.url));

const HELP = `Does to a guard on a real control plane what can happen to it, asks for deletions meanwhile, and writes what came of it into
the table of docs/failure-modes.md.

Usage: npm run chaos [-- --only NAME --page FILE --kubernetes VERSION]

Options:
  --only NAME           this fault; may be given more than once. The table is printed and not written (default: all of them)
  --page FILE           the page whose table is replaced (default: docs/failure-modes.md)
  --kubernetes VERSION  1.33.0 (the default) or 1.31.0
  --list                names the faults
  --help                this text

Ends with 1 if something in use was let go, something free was called used, or the guard ended; then nothing is written.
Example: npm run chaos -- --only etcd-restored
`;

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      page: { type: 'string', default: PAGE },
      kubernetes: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (flags.list) {
    for (const { name, title } of FAULTS) process.stdout.write(`${name.padEnd(22)} ${title}\n`);
    return 0;
  }
  const unknown = flags.only.find((name) => FAULTS.every((fault) => fault.name !== name));
  if (unknown !== undefined) throw new UsageError(`There is no fault ${unknown}: --list names those that there are.`);
  const binaries = await prepareRun(flags.kubernetes);
  const around = readEnvironment(binaries.release);
  const rows: Row[] = [];
  let isHeld = true;
  const stage = await Stage.start(binaries);
  try {
    for (const fault of FAULTS.filter(({ name }) => flags.only.length === 0 || flags.only.includes(name))) {
      log(fault.title);
      const ordeal = await suffer(stage, fault);
      for (const message of ordeal.heard) log(`  ${message}`);
      const problems = problemsOf(fault, ordeal);
      for (const problem of problems) log(`  WRONG: ${problem}`);
      isHeld &&= problems.length === 0;
      rows.push({ fault, ordeal });
    }
  } finally {
    await stage.stop();
  }
  const table = tableOf(rows, around);
  process.stdout.write(`${table}\n`);
  if (!isHeld) return 1;
  if (flags.only.length === 0) {
    const page = resolve(flags.page);
    await writeFile(page, withTable(await readFile(page, 'utf8'), table));
    log(`Written to ${page}`);
  }
  return 0;
}

await runCommand('chaos', main);
