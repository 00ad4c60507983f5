import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { pause, until } from '../control-plane/until.ts';
import { answerOf } from '../support/answer.ts';
import { Cluster } from '../support/cluster.ts';
import { probeDuring } from '../support/prober.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { log } from '../support/runner.ts';
import { countAnswers } from '../chaos/run-fault.ts';
import { DEPLOYMENT, GuardPods, type GuardPod } from './guard-pods.ts';
import { findCondition } from './node-cluster.ts';
import { startNodeCluster } from './prepare.ts';

const NODES = 500;
const DELETIONS = 300;
const MIB = 2 ** 20;
/** The request in the manifests. A node may run out of memory that no pod has requested. */
const REQUESTED_MIB = 128;
const IDLE_MS = 30_000;
const BUSY_MS = 20_000;
const NEIGHBOR = 'neighbor';
const NEIGHBOR_PATH = `/api/v1/namespaces/default/pods/${NEIGHBOR}`;

const nodeCluster = await startNodeCluster(await runBinaries(), 1, log);
const { connection, auditLog } = nodeCluster.controlPlane.apiServer;
const cluster = new Cluster({ admin: connection, auditLog });
const pods = new GuardPods(nodeCluster);
await pods.install();

afterAll(() => nodeCluster.stop());

/** Usage without the page cache that the kernel can drop, as `kubectl top` shows it. */
async function readWorkingSetMiB(cgroup: string): Promise<number> {
  const usage = Number(await readFile(join(cgroup, 'memory.usage_in_bytes'), 'utf8'));
  const stat = await readFile(join(cgroup, 'memory.stat'), 'utf8');
  return (usage - Number(/^total_inactive_file (\d+)$/m.exec(stat)?.[1])) / MIB;
}

async function readCpuSeconds(cgroup: string): Promise<number> {
  return Number(await readFile(join(cgroup, 'cpuacct.usage'), 'utf8')) / 1e9;
}

async function requirePod(): Promise<GuardPod> {
  const [pod] = await pods.list();
  if (pod === undefined) throw new Error('The guard has no pod.');
  return pod;
}

/** A pod on the same node that burns all cores, and whose request gives it a hundred times the weight of 10m. */
function neighbor(): object {
  const burn = 'for (;;);';
  const threads = `new worker_threads.Worker('${burn}', { eval: true });`.repeat(
    availableParallelism() - 1,
  );
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

test(`the container needs less memory than it requests: ${NODES} nodes, ${DELETIONS} deletions at once`, async () => {
  const used = await cluster.config();
  for (const _ of Array(NODES / 50)) {
    await Promise.all(Array.from({ length: 50 }, () => cluster.node({ currentConfig: used })));
  }
  const unused = await Promise.all(Array.from({ length: DELETIONS }, () => cluster.config()));
  const cgroup = pods.containerCgroup(await requirePod(), 'memory');
  await pause(IDLE_MS);
  const idleMiB = await readWorkingSetMiB(cgroup);
  await writeFile(join(cgroup, 'memory.max_usage_in_bytes'), '0');

  const responses = await Promise.all(unused.map((config) => cluster.delete(config)));

  const peakMiB = Number(await readFile(join(cgroup, 'memory.max_usage_in_bytes'), 'utf8')) / MIB;
  const answers = countAnswers(responses.map((response) => ({ answer: answerOf(response) })));
  console.log({ idleMiB, peakMiB, answers, slowestMs: Math.max(...responses.map(({ ms }) => ms)) });
  expect(Object.keys(answers).filter((answer) => answer !== 'unverified')).toEqual(['allowed']);
  expect((await cluster.dryRun(used)).status).toBe(403);
  expect(peakMiB).toBeLessThan(REQUESTED_MIB);
}, 300_000);

// The figures need a quiet machine with at least as many free cores as the control plane uses.
test.for(['10m', '50m', '100m', '250m'])(
  'decides rightly, or not at all, beside a pod that burns all cores, with a request of %s',
  { timeout: 300_000 },
  async (request) => {
    await pods.kubectl('set', 'resources', DEPLOYMENT, `--requests=cpu=${request}`);
    await pods.awaitRollout();
    await cluster.admin.create(dirname(NEIGHBOR_PATH), neighbor());
    try {
      const isReady = async () => {
        const pod = (await cluster.admin.find(NEIGHBOR_PATH)) as GuardPod | undefined;
        return findCondition(pod, 'Ready')?.status === 'True' && pod;
      };
      const cgroup = pods.containerCgroup(
        await until('the neighbor', isReady, { timeoutMs: 60_000 }),
        'cpuacct',
      );
      const startedAt = await readCpuSeconds(cgroup);
      const prober = await probeDuring(connection, () => pause(BUSY_MS));

      const neighborCores = ((await readCpuSeconds(cgroup)) - startedAt) / (BUSY_MS / 1_000);
      console.log({ request, neighborCores, ...countAnswers(prober.probes) });
      expect(prober.errors).toEqual([]);
    } finally {
      await cluster.admin.delete(`/api/v1/namespaces/default/pods/${NEIGHBOR}`, {
        gracePeriodSeconds: '0',
      });
    }
  },
);
