import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import { environment } from '../../bench/environment.ts';
import { availableReleases, findBinaries, NoControlPlane } from '../control-plane/binaries.ts';
import { FAULTS } from './faults.ts';
import { problemsOf, suffer } from './support/ordeal.ts';
import { tableOf, withTable, type Row } from './support/page.ts';
import { Stage } from './support/stage.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
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

/** Wrong usage; the message is one sentence. */
class Usage extends Error {}

interface Flags {
  readonly only: readonly string[];
  readonly page: string;
  readonly kubernetes: string | undefined;
  readonly list: boolean;
  readonly help: boolean;
}

/** The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const flags = readFlags(args);
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (flags.list) {
    for (const { name, title } of FAULTS) process.stdout.write(`${name.padEnd(22)} ${title}\n`);
    return 0;
  }
  const unknown = flags.only.find((name) => FAULTS.every((fault) => fault.name !== name));
  if (unknown !== undefined) throw new Usage(`There is no fault ${unknown}: --list names those that there are.`);
  const releases = await availableReleases();
  const release = releases.find(({ kubernetes }) => flags.kubernetes === undefined || kubernetes === flags.kubernetes);
  if (release === undefined) {
    const known = releases.map(({ kubernetes }) => kubernetes).join(' or ');
    throw new Usage(`--kubernetes ${flags.kubernetes} is not available here: it can be ${known}.`);
  }
  const binaries = await findBinaries(release, log);
  // What is tried is the bundle, as it runs in a cluster, and of these sources.
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: ROOT });
  const around = await environment(release);
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
    await writeFile(flags.page, withTable(await readFile(flags.page, 'utf8'), table));
    log(`Written to ${flags.page}`);
  }
  return 0;
}

function readFlags(args: readonly string[]): Flags {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true, default: [] },
        page: { type: 'string', default: PAGE },
        kubernetes: { type: 'string' },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const { only, page, kubernetes, list, help } = values;
    return { only, page: resolve(page), kubernetes, list, help };
  } catch (error) {
    // The parser's own sentence; what follows it is advice on escaping that is of no use here.
    throw new Usage(`${(error as Error).message.split('. ')[0]?.replace(/\.$/, '')}.`);
  }
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof Usage) {
    log(`${error.message} See: npm run chaos -- --help`);
    process.exitCode = 2;
  } else if (error instanceof NoControlPlane) {
    log(error.message);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
