import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readEnvironment } from '../bench/environment.ts';
import { writeReport } from '../bench/report.ts';
import type { Binaries } from '../e2e/control-plane/binaries.ts';
import { pause } from '../e2e/control-plane/until.ts';
import { startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { imageEnvironment } from '../e2e/support/image-environment.ts';
import { findNode24 } from '../e2e/support/node-24.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { parseWholeNumber } from '../support/usage.ts';
import { Churn } from './churn.ts';
import { type Observation, observe, readCpuSeconds } from './observation.ts';
import { createTables, listFailures, type SoakRun } from './report.ts';

const WORK_PROBE = new URL('work-probe.mjs', import.meta.url).href;
const RESULTS = fileURLToPath(new URL('results', import.meta.url));
const OBSERVATION_INTERVAL_MS = 2_000;
/** Even the shortest run has 80 observations. */
const MAX_INTERVAL_MS_PER_MINUTE = 750;
const OBSERVATIONS_PER_LINE = 30;

const QUESTION = 'Do the memory, the open files or the delay of the guard grow in a busy cluster?';
const HELP = `Fails if the guard's memory, open files or delay grow in a busy cluster.

Usage: npm run soak [-- --minutes N --nodes N --out DIR]

Options:
  --help       print this text
  --minutes N  duration after the creation of the nodes (default: 30)
  --nodes N    number of nodes (default: 5000, which take some minutes to create)
  --out DIR    folder for soak.md (default: test/soak/results)

Exits with 1 if something grows or an answer is wrong, and with 2 on wrong usage.
Example: npm run soak -- --minutes 2 --nodes 200 --out /tmp/soak
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      nodes: { type: 'string', default: '5000' },
      out: { type: 'string', default: RESULTS },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const minutes = parseWholeNumber('minutes', values.minutes);
  const nodes = parseWholeNumber('nodes', values.nodes, 10);
  const binaries = await prepareRun();
  const environment = readEnvironment(binaries.release);
  const command = `npm run soak -- --minutes ${minutes} --nodes ${nodes}`;
  const run = await soak(binaries, minutes, nodes);
  const tables = createTables(run);
  writeReport(
    { bench: 'soak', question: QUESTION, command, environment, seconds: minutes * 60, tables },
    resolve(values.out),
  );
  const failures = listFailures(run, tables);
  for (const failure of failures) log(`FAILED: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

async function soak(binaries: Binaries, minutes: number, nodes: number): Promise<SoakRun> {
  const guarded = await startGuardedCluster(binaries, { direct: true });
  try {
    const { controlPlane, guard } = guarded;
    const node = await findNode24();
    const probeFile = join(controlPlane.directory, 'work.json');
    await guarded.launchGuard(() => {
      const script = `shift; exec '${node}' "$@"`;
      const env = {
        NODE_OPTIONS: `${imageEnvironment().NODE_OPTIONS} --import=${WORK_PROBE}`,
        SOAK_PROBE_FILE: probeFile,
      };
      return Promise.resolve({ script, env });
    });
    const churn = new Churn(controlPlane.apiServer.admin, nodes);
    log(`Creating ${nodes} nodes …`);
    await guarded.switchHoldOff();
    await churn.prepare();
    log(`${minutes} minutes of churn …`);
    const observations: Observation[] = [];
    guard.signal('SIGUSR2');
    const cpuBefore = await readCpuSeconds(guard.pid);
    const startedAt = performance.now();
    const observeAll = async () => {
      const intervalMs = Math.min(OBSERVATION_INTERVAL_MS, minutes * MAX_INTERVAL_MS_PER_MINUTE);
      for (let elapsed = intervalMs; elapsed <= minutes * 60_000; elapsed += intervalMs) {
        await pause(Math.max(0, startedAt + elapsed - performance.now()));
        const minute = (performance.now() - startedAt) / 60_000;
        const observation = await observe(guard.pid, guard.healthUrl, minute);
        observations.push(observation);
        if (observations.length % OBSERVATIONS_PER_LINE === 0) {
          const { memory } = observation;
          log(`${minute.toFixed(1)} min  ${memory.toFixed(0)} MB  ${JSON.stringify(churn.tally)}`);
        }
      }
    };
    const churning = churn.run();
    const observing = observeAll();
    // A failure of one of them ends the other.
    await Promise.race([churning, observing]);
    churn.stop();
    await Promise.all([churning, observing]);
    const cpu = ((await readCpuSeconds(guard.pid)) - cpuBefore) / ((performance.now() - startedAt) / 1_000);
    const longest = JSON.parse(await readFile(probeFile, 'utf8')) as SoakRun['longest'];
    return { observations, tally: churn.tally, cpu, longest };
  } finally {
    await guarded.stop();
  }
}

await runCommand('soak', main);
