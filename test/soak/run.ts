import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { environment } from '../bench/environment.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { wholeNumber } from '../support/usage.ts';
import { asMarkdown, failuresOf, reportOf, type SoakReport } from './report.ts';
import { soak } from './soak.ts';

const RESULTS = fileURLToPath(new URL('results', import.meta.url));
/** A shorter run has no second half worth the name. */
const MINUTES_MIN = 1;

const HELP = `Runs the guard beside a real API server in which much happens, and fails when its memory, its open files or its delay grow.

Usage: npm run soak [-- --minutes N --nodes N --out DIR]

Options:
  --minutes N  how long, after the nodes were made (default: 20)
  --nodes N    how many nodes (default: 5000, which take some minutes to make)
  --out DIR    where to write soak.json and soak.md (default: test/soak/results)
  --help       this text

Ends with 0 where nothing grows and every deletion was decided rightly, 1 where not, 2 for wrong usage.
Example: npm run soak -- --minutes 2 --nodes 200 --out /tmp/soak
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '20' },
      nodes: { type: 'string', default: '5000' },
      out: { type: 'string', default: RESULTS },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const minutes = wholeNumber('minutes', values.minutes, MINUTES_MIN);
  const nodes = wholeNumber('nodes', values.nodes, 10);
  const binaries = await prepareRun();
  const around = await environment(binaries.release);
  const begun = performance.now();
  const elapsed = (): string => ((performance.now() - begun) / 1_000).toFixed(0).padStart(5);
  const soaked = await soak({ binaries, minutes, nodes, log: (line) => log(`${elapsed()} s  ${line}`) });
  const command = `npm run soak -- --minutes ${minutes} --nodes ${nodes}`;
  const report = reportOf({ command, environment: around, minutes, nodes }, soaked);
  await publish(report, resolve(values.out));
  return failuresOf(report).length === 0 ? 0 : 1;
}

async function publish(report: SoakReport, out: string): Promise<void> {
  const markdown = asMarkdown(report);
  process.stdout.write(`\n${markdown}\n`);
  await mkdir(out, { recursive: true });
  const file = (ending: string): string => join(out, `soak.${ending}`);
  await writeFile(file('json'), `${JSON.stringify(report)}\n`);
  await writeFile(file('md'), markdown);
  log(`Written to ${join(out, 'soak')}.json and .md`);
}

await runCommand('soak', main);
