import { expect, test } from 'vitest';
import { MCO_GROUP } from '../../../src/kube/api-paths.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { restore, type RestoreOptions } from '../../../src/cli/restore/restore-run.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const MARKER = 'machineconfig-guard.io/paused-for-restore';
const { name: MISSING, config: CONFIG } = createConfigOnDisk();
const { name: MISSING_OF_WORKERS, config: CONFIG_OF_WORKERS } = createConfigOnDisk('worker');
const { name: OTHER } = createConfigOnDisk();
const POOL_PATH = `/apis/${MCO_GROUP}/v1/machineconfigpools/master`;

/** A pool with an empty status, whose masters are Degraded and name the missing config. */
async function startStuckCluster(): Promise<TestCluster> {
  const cluster = await startTestCluster();
  createStuckPool(cluster, 'master', MISSING, ['control0', 'control1']);
  return cluster;
}

function createStuckPool(cluster: TestCluster, role: string, missing: string, nodes: readonly string[]): void {
  const { name: rendered } = createConfigOnDisk(role);
  cluster.create('machineconfigs', { metadata: { name: rendered }, spec: {} });
  cluster.create('machineconfigpools', {
    metadata: { name: role },
    spec: {
      configuration: { name: rendered },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${role}`]: '' } },
      machineConfigSelector: { matchLabels: { role } },
    },
    status: { machineCount: nodes.length, updatedMachineCount: 0 },
  });
  for (const name of nodes) createDegradedNode(cluster, name, role, missing);
}

function createDegradedNode(cluster: TestCluster, name: string, role: string, missing: string): void {
  const values = {
    currentConfig: missing,
    desiredConfig: missing,
    state: 'Degraded',
    reason: 'missing config',
  };
  cluster.create('nodes', {
    metadata: {
      name,
      labels: { [`node-role.kubernetes.io/${role}`]: '' },
      annotations: Object.fromEntries(Object.entries(values).map(([key, value]) => [`${MCO_GROUP}/${key}`, value])),
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
}

function setReady(cluster: TestCluster, name: string, status: string): void {
  cluster.patch('nodes', name, { status: { conditions: [{ type: 'Ready', status }] } });
}

const COMMANDS = new CommandFormatter('machineconfig-guard', {});

async function runRestore(cluster: TestCluster, options: Partial<RestoreOptions> = {}) {
  return await restore(cluster.connect(), {
    configs: [CONFIG],
    isConfirmed: true,
    acceptContent: false,
    controlPlaneReplicas: 2,
    timeoutMs: 300,
    intervalMs: 50,
    ...options,
  });
}

test.each([
  ['no node', {}, / leave Degraded \("missing config"\)$/, []],
  [
    'one node',
    { control0: 'Unknown' },
    /\("missing config"\); control0 is not Ready$/,
    ['start it, or delete a node whose machine is lost: oc delete node control0'],
  ],
  [
    'two nodes',
    { control0: 'False', control1: 'Unknown' },
    /; control0 and control1 are not Ready$/,
    ['start them, or delete a node whose machine is lost: oc delete node control0 control1'],
  ],
])(
  'waiting for Degraded nodes, names those that are not Ready, and what to do: %s',
  async (_count, states, problem, advice) => {
    const cluster = await startStuckCluster();
    for (const [name, status] of Object.entries(states)) setReady(cluster, name, status);
    const report = await runRestore(cluster);
    expect(report.problem).toMatch(problem);
    expect(report.advice.map((item) => COMMANDS.toClause(item))).toEqual(advice);
  },
);

test('names the waits of two pools, and the advice about one of them', async () => {
  const cluster = await startStuckCluster();
  createStuckPool(cluster, 'worker', MISSING_OF_WORKERS, ['worker0']);
  setReady(cluster, 'control0', 'False');
  const { problem, advice } = await runRestore(cluster, { configs: [CONFIG, CONFIG_OF_WORKERS] });
  expect(problem).toMatch(/ is not Ready; until worker0 leaves Degraded \("missing config"\)$/);
  expect(advice.map((item) => COMMANDS.toClause(item))).toEqual([expect.stringContaining('oc delete node control0')]);
});

test('ends before the first write if another restore pauses the pool after the plan', async () => {
  const cluster = await startStuckCluster();
  let isPaused = false;
  cluster.faults.intercept(({ method, path, query }) => {
    if (isPaused || method !== 'PATCH' || path !== POOL_PATH || query.has('dryRun')) return 'pass';
    isPaused = true;
    cluster.patch('machineconfigpools', 'master', {
      metadata: { annotations: { [MARKER]: OTHER } },
      spec: { paused: true },
    });
    return 'pass';
  });

  const report = await runRestore(cluster, { timeoutMs: 10_000 });

  expect(isPaused).toBe(true);
  expect(report).toMatchObject({
    ok: false,
    problem: `a restore of ${OTHER} has paused pool master; wait until it ends`,
    pausedPools: [],
  });
  expect(cluster.get('machineconfigs', MISSING)).toBeUndefined();
  expect(cluster.get('machineconfigpools', 'master')?.metadata.annotations).toEqual({ [MARKER]: OTHER });
});

test('an abort ends the first read', async () => {
  const cluster = await startStuckCluster();
  const stop = new AbortController();
  cluster.faults.intercept(({ path }) => {
    if (path !== '/api/v1/nodes') return 'pass';
    stop.abort();
    return 'hang';
  });
  await expect(runRestore(cluster, { signal: stop.signal })).rejects.toThrow('aborted');
});
