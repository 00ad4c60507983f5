import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createFleet, nodeName } from '../bench/fleet.ts';
import { memoryOf } from '../bench/memory.ts';
import { describeEnvironment } from '../bench/report.ts';
import { expectStatus, type KubeClient } from '../e2e/control-plane/kube-client.ts';
import { pause } from '../e2e/control-plane/until.ts';
import { startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { findNode24 } from '../e2e/support/node-24.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { Prober } from '../e2e/support/prober.ts';
import { imageEnvironment } from '../e2e/support/program.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { parseWholeNumber } from '../support/usage.ts';
import { formatTables, listFailures, type SoakRun } from './report.ts';

const WORK_PROBE = new URL('work-probe.mjs', import.meta.url).href;
const OBSERVATIONS = 400;
/**
 * The interval of a kubelet (kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go, nodeStatusReportFrequency). Its
 * heartbeat is a Lease, which the guard does not watch.
 */
const STATUS_INTERVAL_MS = 300_000;
const CONFIG_INTERVAL_MS = 4_000;

const HELP = `Fails if the guard's memory or open files grow in a busy cluster.

Usage: npm run --silent soak [-- --minutes N --nodes N] > test/soak/results/soak.md

Options:
  --help       print this text
  --minutes N  duration after the creation of the nodes (default: 30)
  --nodes N    number of nodes (default: 5000, which take some minutes to create)

Exits with 1 if something grows or an answer is wrong, and with 2 on wrong usage.
Example: npm run soak -- --minutes 2 --nodes 200
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      nodes: { type: 'string', default: '5000' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const minutes = parseWholeNumber('minutes', values.minutes);
  const nodes = parseWholeNumber('nodes', values.nodes, 10);
  const { release } = await prepareRun();
  const environment = describeEnvironment(release);
  const run = await soak(minutes, nodes);
  process.stdout.write('# Do the memory or the open files of the guard grow in a busy cluster?\n\n');
  const command = `npm run soak -- --minutes ${minutes} --nodes ${nodes}`;
  process.stdout.write(`\`${command}\`, ${environment}.\n\n${formatTables(run)}`);
  const failures = listFailures(run);
  for (const failure of failures) log(`FAILED: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

async function soak(minutes: number, nodes: number): Promise<SoakRun> {
  const guarded = await startGuardedCluster({ direct: true });
  try {
    const { controlPlane, guard } = guarded;
    const node = await findNode24();
    const probeFile = join(controlPlane.directory, 'work.json');
    const NODE_OPTIONS = `${imageEnvironment().NODE_OPTIONS} --import=${WORK_PROBE}`;
    const env = { NODE_OPTIONS, SOAK_PROBE_FILE: probeFile };
    await guard.restart({ script: `shift; exec '${node}' "$@"`, env });
    const { cluster } = guarded;
    log(`Creating ${nodes} nodes …`);
    await createFleet(cluster.admin, nodes, [await cluster.config()]);
    log(`${minutes} minutes of work …`);
    guard.signal('SIGUSR2');
    const prober = await Prober.start(cluster.admin);
    const stop = new AbortController();
    const counts = { statuses: 0, configs: 0 };
    const work = Promise.all([
      repeat(STATUS_INTERVAL_MS / nodes, stop.signal, async () => {
        await writeStatus(cluster.admin, nodeName(counts.statuses % nodes));
        counts.statuses += 1;
      }),
      repeat(CONFIG_INTERVAL_MS, stop.signal, async () => {
        if ((await cluster.delete(await cluster.config())).status === 200) counts.configs += 1;
      }),
    ]);
    const observations: { memory: number; files: number }[] = [];
    for (let index = 1; index <= OBSERVATIONS; index += 1) {
      // A failure of the work ends the run.
      await Promise.race([work, pause((minutes * 60_000) / OBSERVATIONS)]);
      const [memory, files] = await Promise.all([memoryOf(guard.pid), readdir(`/proc/${guard.pid}/fd`)]);
      observations.push({ memory: memory.now, files: files.length });
      if (index % 20 === 0) log(`${(index * 100) / OBSERVATIONS} %  ${memory.now.toFixed(0)} MB`);
    }
    stop.abort();
    await work;
    await prober.stop();
    return {
      observations,
      counts: {
        'deletions of configs in use, denied': prober.probes.filter(({ answer }) => answer === 'in use').length,
        'deletions of unused configs, allowed': prober.probes.filter(({ answer }) => answer === 'allowed').length,
        'configs deleted': counts.configs,
        'writes of kubelets': counts.statuses,
      },
      faults: prober.unexpectedAnswers.map(
        ({ subject, answer, message }) => `${subject} was answered "${answer}": ${message}`,
      ),
      longest: JSON.parse(await readFile(probeFile, 'utf8')) as SoakRun['longest'],
    };
  } finally {
    await guarded.stop();
  }
}

/** Calls a function at a fixed rate. After a slow call the next ones follow immediately. */
async function repeat(intervalMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  for (let next = performance.now() + intervalMs; !signal.aborted; next += intervalMs) {
    await work();
    await pause(Math.max(0, next - performance.now()));
  }
}

async function writeStatus(admin: KubeClient, name: string): Promise<void> {
  const heartbeat = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() };
  const path = `${PATHS.nodes}/${name}/status`;
  const contentType = 'application/strategic-merge-patch+json';
  const extras = { query: { fieldManager: 'kubelet' }, contentType };
  expectStatus(await admin.request('PATCH', path, { status: { conditions: [heartbeat] } }, extras), [200], path);
}

await runCommand('soak', main);
