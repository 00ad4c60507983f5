import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { readEnvironment } from './environment.ts';
import { comparePeer } from './peer.ts';
import { writeReport } from './report.ts';

const RESULTS = fileURLToPath(new URL('results', import.meta.url));

const HELP = `Compares the guard with the same rule on controller-runtime. Writes test/bench/results/peer.md.

Usage: npm run bench [-- --quick]

Options:
  --help   print this text
  --quick  run small cases whose figures mean nothing, and write nothing
`;

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: { quick: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { release } = await prepareRun();
  const environment = readEnvironment(release);
  const startedAt = performance.now();
  const elapsedSeconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const guarded = await startGuardedCluster({ direct: true });
  try {
    const table = await comparePeer(guarded, flags.quick, (line) => log(`${elapsedSeconds()} s  ${line}`));
    const question = 'How does the guard compare with a webhook in Go on controller-runtime?';
    const command = `npm run bench${flags.quick ? ' -- --quick' : ''}`;
    const report = { name: 'peer', question, command, environment, seconds: elapsedSeconds(), tables: [table] };
    writeReport(report, flags.quick ? undefined : RESULTS);
  } finally {
    await guarded.stop();
  }
  return 0;
}

await runCommand('bench', main);
