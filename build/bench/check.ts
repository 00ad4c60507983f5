import { execFile } from 'node:child_process';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ControlPlane } from '../../test/e2e/control-plane/control-plane.ts';
import { Cluster } from '../../test/e2e/support/cluster.ts';
import { nodePatch, PATHS, renderedName } from '../../test/e2e/support/objects.ts';
import { log, prepareRun } from '../../test/e2e/support/runner.ts';
import { createNodes, NODE_SIZE, nodeName } from './fleet.ts';
import { interleave } from './interleave.ts';
import { describeEnvironment, formatNumber, formatTable } from './report.ts';

const HELP = `Compares how long check takes in a large cluster with 40 causes.

Usage: npm run --silent bench:check -- [--nodes NUMBER] [--rounds NUMBER] [OLD_PROGRAM]

OLD_PROGRAM is dist/machineconfig-guard.cjs of another version, from npm run build.
`;

/** Of each kind: nodes that name a missing config, cordoned ones, and ones whose kubelet does not answer. */
const CAUSES = { missing: 20, cordoned: 10, notReady: 10 };
const SINCE = '2025-05-27T15:54:10Z';

const run = promisify(execFile);

async function main(): Promise<void> {
  const { values: flags, positionals } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      nodes: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '20' },
    },
    allowPositionals: true,
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return;
  }
  const binaries = await prepareRun();
  const environment = describeEnvironment(binaries.release);
  const controlPlane = await ControlPlane.start(binaries);
  try {
    await createCauses(controlPlane, Number(flags.nodes));
    const programs = [path.resolve('dist/machineconfig-guard.cjs'), ...positionals.map((file) => path.resolve(file))];
    const { kubeconfig } = controlPlane.apiServer;
    const measurements = programs.map((program) => async () => [await measureCheck(program, kubeconfig)]);
    const summaries = await interleave(measurements, Number(flags.rounds));
    const rows = summaries.map(({ p50, p99 }, index) => [
      programs[index] ?? '',
      formatNumber(p50),
      formatNumber(p99),
      formatNumber(p50 / (summaries.at(-1)?.p50 ?? Number.NaN), 2),
    ]);
    const table = formatTable(['program', 'ms (p50)', 'ms (p99)', 'times the last one'], rows);
    process.stdout.write(`${environment}, ${flags.nodes} nodes. ${NODE_SIZE}\n\n${table}`);
  } finally {
    await controlPlane.stop();
  }
}

async function createCauses({ apiServer }: ControlPlane, nodes: number): Promise<void> {
  const { admin } = apiServer;
  const cluster = new Cluster(apiServer);
  const config = await cluster.config({ name: renderedName('worker') });
  await cluster.pool({ name: 'worker', spec: config, status: config });
  log(`Creating ${nodes} nodes …`);
  await createNodes(admin, 0, nodes, config);
  const names = Array.from({ length: 40 }, (_, index) => nodeName(index));
  const { missing, cordoned } = CAUSES;
  for (const name of names.slice(0, missing)) {
    await admin.patch(`${PATHS.nodes}/${name}`, nodePatch({ desiredConfig: renderedName('worker') }));
  }
  for (const name of names.slice(missing, missing + cordoned)) {
    await admin.patch(`${PATHS.nodes}/${name}`, { spec: { unschedulable: true } });
  }
  const notReady = {
    type: 'Ready',
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting',
  };
  for (const name of names.slice(missing + cordoned)) {
    const status = { conditions: [{ ...notReady, lastHeartbeatTime: SINCE, lastTransitionTime: SINCE }] };
    await admin.patch(`${PATHS.nodes}/${name}/status`, { status });
  }
}

/** @throws Error unless check finds the missing configs */
async function measureCheck(program: string, kubeconfig: string): Promise<number> {
  const startedAt = performance.now();
  const options = { maxBuffer: 1 << 30 };
  const result = await run(
    process.execPath,
    [program, 'check', '--kubeconfig', kubeconfig, '-o', 'json'],
    options,
  ).catch((error: unknown) => error as { readonly code: unknown; readonly stdout: string });
  const ms = performance.now() - startedAt;
  const { problems } = JSON.parse(result.stdout) as { readonly problems: readonly { readonly code: string }[] };
  if (problems.length < CAUSES.missing) throw new Error(`${program} found ${problems.length} problems.`);
  return ms;
}

await main();
