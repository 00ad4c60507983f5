import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { answerOf } from '../support/answer.ts';
import { Cluster } from '../support/cluster.ts';
import { readAuthority, SERVICE_NAME } from '../support/guard-service.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { log } from '../support/runner.ts';
import { countAnswers, type AnswerCounts } from '../chaos/run-fault.ts';
import { Attacker } from '../hostile/attacker.ts';
import { createReviewFloods, createUnfinishedBodies, Flood } from '../hostile/flood.ts';
import { DEPLOYMENT, GuardPods, type GuardPod } from './guard-pods.ts';
import { findCondition } from './node-cluster.ts';
import { startNodeCluster } from './prepare.ts';

const NODES = 500;
const MANY_NODES = 5_000;
const DELETIONS = 300;
const MIB = 2 ** 20;
/** The request in the manifests. A node may run out of memory that no pod has requested. */
const REQUESTED_MIB = 128;
const IDLE_MS = 30_000;
const BUSY_MS = 20_000;
const WEBHOOK_PORT = 9443;
/** The deletions of a used config during a flood, and the time between two of them. */
const FLOODED_DELETIONS = 35;
const FLOODED_INTERVAL_MS = 100;
/** The guard may log an answer after the API server has given up. */
const LATE_MS = 5_000;
/** The true reason of each resource that could not be listed in time. */
const LATE = /\((?:[a-z]+: (?:no complete answer|the live read did not start) in time(?:, | and )?)+\)/;
const NEIGHBOR = 'neighbor';
const NEIGHBOR_PATH = `/api/v1/namespaces/default/pods/${NEIGHBOR}`;

const nodeCluster = await startNodeCluster(await runBinaries(), 1, log);
const { connection, auditLog } = nodeCluster.controlPlane.apiServer;
const cluster = new Cluster({ admin: connection, auditLog });
const pods = new GuardPods(nodeCluster);
await pods.install();

afterAll(() => nodeCluster.stop());

interface LogLine {
  readonly msg: string;
  /** Only decisions have these fields. */
  readonly path?: string;
  readonly code?: string;
  readonly ms?: number;
}

/** Usage without the page cache that the kernel can drop, as `kubectl top` shows it. */
async function readWorkingSetMiB(cgroup: string): Promise<number> {
  const usage = Number(await readFile(join(cgroup, 'memory.usage_in_bytes'), 'utf8'));
  const stat = await readFile(join(cgroup, 'memory.stat'), 'utf8');
  return (usage - Number(/^total_inactive_file (\d+)$/m.exec(stat)?.[1])) / MIB;
}

async function readPeakMiB(cgroup: string): Promise<number> {
  return Number(await readFile(join(cgroup, 'memory.max_usage_in_bytes'), 'utf8')) / MIB;
}

/** Makes the peak count from now on. */
async function resetPeak(cgroup: string) {
  await writeFile(join(cgroup, 'memory.max_usage_in_bytes'), '0');
}

async function readCpuSeconds(cgroup: string): Promise<number> {
  return Number(await readFile(join(cgroup, 'cpuacct.usage'), 'utf8')) / 1e9;
}

async function requirePod(): Promise<GuardPod> {
  const [pod] = await pods.list();
  if (pod === undefined) throw new Error('The guard has no pod.');
  return pod;
}

/** Adds nodes that name a config until there are this many. */
async function createNodes(config: string, count: number) {
  const existing = (await cluster.admin.list(PATHS.nodes)).length;
  for (let missing = count - existing; missing > 0; missing -= 50) {
    const batch = Array.from({ length: Math.min(50, missing) }, () => cluster.node({ currentConfig: config }));
    await Promise.all(batch);
  }
}

function createUnusedConfigs() {
  return Promise.all(Array.from({ length: DELETIONS }, () => cluster.config()));
}

/** Deletes configs at once. */
async function prune(configs: readonly string[]) {
  const since = new Date().toISOString();
  const responses = await Promise.all(configs.map((config) => cluster.delete(config)));
  const slowestMs = Math.max(...responses.map(({ ms }) => ms));
  await pause(LATE_MS);
  const log = await summarizeLog(since);
  return { answers: countResponses(responses), messages: countMessages(responses), slowestMs, log };
}

/** No object changes meanwhile, so only the time can be too short. */
function expectTrueReasons({ answers, messages }: Awaited<ReturnType<typeof prune>>) {
  const denials = [...messages.keys()].filter((message) => message.includes('MCG_UNVERIFIED'));
  for (const message of denials) expect(message).toMatch(LATE);
  expect(answers.unexpected).toBeUndefined();
  expect(answers['in use']).toBeUndefined();
}

function countResponses(responses: readonly KubeResponse[]): AnswerCounts {
  return countAnswers(responses.map((response) => ({ answer: answerOf(response) })));
}

/** The memory of the guard at rest, and its peak while it answers deletions at once. */
async function measurePrune() {
  const configs = await createUnusedConfigs();
  const cgroup = pods.containerCgroup(await requirePod(), 'memory');
  await pause(IDLE_MS);
  const idleMiB = await readWorkingSetMiB(cgroup);
  await resetPeak(cgroup);
  const result = await prune(configs);
  return { idleMiB, peakMiB: await readPeakMiB(cgroup), ...result };
}

/** The number of the guard's log lines, and the longest time to an answer in ms, for each path and code, or message. */
async function summarizeLog(since: string) {
  const { metadata } = await requirePod();
  const lines = (await pods.kubectl('logs', metadata.name, `--since-time=${since}`)).split('\n');
  const groups = new Map<string, { count: number; slowestMs: number }>();
  for (const line of lines.filter((text) => text.endsWith('}'))) {
    const { msg, path, code, ms = 0 } = JSON.parse(line) as LogLine;
    const key = path === undefined ? msg : `${path} ${code}`;
    const { count, slowestMs } = groups.get(key) ?? { count: 0, slowestMs: 0 };
    groups.set(key, { count: count + 1, slowestMs: Math.max(slowestMs, ms) });
  }
  return groups;
}

/** How often the API server gave each message to a failed deletion, without the names of configs. */
function countMessages(responses: readonly KubeResponse[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const response of responses.filter(({ status }) => status !== 200)) {
    const message = String(statusOf(response).message).replaceAll(/rendered-\S+/g, 'CONFIG');
    counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  return counts;
}

/** A pod on the same node that burns all cores, and whose request gives it ten times the weight of 100m. */
function neighbor(): object {
  const burn = 'for (;;);';
  const threads = `new worker_threads.Worker('${burn}', { eval: true });`.repeat(availableParallelism() - 1);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NEIGHBOR },
    spec: {
      tolerations: [{ operator: 'Exists' }],
      nodeSelector: { 'node-role.kubernetes.io/control-plane': '' },
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: NEIGHBOR,
          image: 'machineconfig-guard:0.1.0',
          command: ['node', '-e', `${threads} ${burn}`],
          resources: { requests: { cpu: '1' } },
        },
      ],
    },
  };
}

/** Runs a step beside a pod that burns all cores. Returns its result, and how many cores that pod got. */
async function runBesideNeighbor<Result>(step: () => Promise<Result>) {
  await cluster.admin.create(dirname(NEIGHBOR_PATH), neighbor());
  try {
    const findReady = async () => {
      const pod = (await cluster.admin.find(NEIGHBOR_PATH)) as GuardPod | undefined;
      return findCondition(pod, 'Ready')?.status === 'True' && pod;
    };
    const pod = await until('the neighbor', findReady, { timeoutMs: 60_000 });
    const cgroup = pods.containerCgroup(pod, 'cpuacct');
    const cpuSeconds = await readCpuSeconds(cgroup);
    const startedAt = performance.now();
    const result = await step();
    const seconds = (performance.now() - startedAt) / 1_000;
    return { result, neighborCores: ((await readCpuSeconds(cgroup)) - cpuSeconds) / seconds };
  } finally {
    await cluster.admin.delete(NEIGHBOR_PATH, { gracePeriodSeconds: '0' });
    await until('the end of the neighbor', async () => !(await cluster.admin.find(NEIGHBOR_PATH)));
  }
}

const used = await cluster.config();

test(`allows ${DELETIONS} deletions at once with less memory than it requests: ${NODES} nodes`, async () => {
  await createNodes(used, NODES);

  const result = await measurePrune();

  console.log(result);
  expectTrueReasons(result);
  expect(result.answers).toEqual({ allowed: DELETIONS });
  expect((await cluster.dryRun(used)).status).toBe(403);
  expect(result.peakMiB).toBeLessThan(REQUESTED_MIB);
}, 300_000);

test(`no message names a wrong reason: ${DELETIONS} deletions at once beside a pod that burns all cores`, async () => {
  const configs = await createUnusedConfigs();

  const { result, neighborCores } = await runBesideNeighbor(() => prune(configs));

  console.log({ ...result, neighborCores });
  expectTrueReasons(result);
}, 300_000);

// The figures need a quiet machine with at least as many free cores as the control plane uses.
test.for(['10m', '50m', '100m', '250m'])(
  'decides rightly, or not at all, beside a pod that burns all cores, with a request of %s',
  { timeout: 300_000 },
  async (request) => {
    await pods.kubectl('set', 'resources', DEPLOYMENT, `--requests=cpu=${request}`);
    await pods.awaitRollout();

    const { result, neighborCores } = await runBesideNeighbor(() => probeDuring(connection, () => pause(BUSY_MS)));

    console.log({ request, neighborCores, ...countAnswers(result.probes) });
    expect(result.errors).toEqual([]);
  },
);

test(`the container stays within its memory limit: ${MANY_NODES} nodes, floods of reviews`, async () => {
  await createNodes(used, MANY_NODES);
  const pod = await requirePod();
  const [process] = await pods.listProcesses(pod);
  const cgroup = pods.containerCgroup(pod, 'memory');
  const limitMiB = Number(await readFile(join(cgroup, 'memory.limit_in_bytes'), 'utf8')) / MIB;
  const result = await measurePrune();
  console.log({ limitMiB, ...result });
  expectTrueReasons(result);
  const target = {
    host: String(pod.status.podIP),
    port: WEBHOOK_PORT,
    ca: await readAuthority(cluster.admin),
    servername: SERVICE_NAME,
  };
  const attacker = await Attacker.against(target, cluster.connection);
  const report = async (flood: string, answers: AnswerCounts) => {
    console.log({ flood, answers, peakMiB: await readPeakMiB(cgroup) });
    expect(answers.allowed).toBeUndefined();
    await resetPeak(cgroup);
  };

  await resetPeak(cgroup);
  for (const attack of [createUnfinishedBodies(attacker), ...createReviewFloods(attacker)]) {
    const flood = await Flood.start(attacker, attack);
    try {
      await report(`${attack.title}, ${attack.connections} connections`, await deleteSteadily(attacker.usedConfig));
    } finally {
      await flood.stop();
    }
  }

  await pause(IDLE_MS);
  console.log({ idleMiB: await readWorkingSetMiB(cgroup) });
  expect(await pods.listProcesses(pod)).toContain(process);
}, 600_000);

/** Deletes a config again and again, and counts the answers. */
async function deleteSteadily(config: string): Promise<AnswerCounts> {
  const responses: Promise<KubeResponse>[] = [];
  for (let index = 0; index < FLOODED_DELETIONS; index += 1) {
    responses.push(cluster.delete(config));
    await pause(FLOODED_INTERVAL_MS);
  }
  return countResponses(await Promise.all(responses));
}
