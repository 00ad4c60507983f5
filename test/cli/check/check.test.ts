import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { checkCluster, type CheckReport } from '../../../src/cli/check/check-cluster.ts';
import { NODES_PATH } from '../../../src/kube/api-paths.ts';
import {
  annotate,
  createNode,
  createPool,
  GONE,
  NEW,
  OLD,
  startEmptyCluster,
  startHealthyCluster,
  TIME,
} from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';
import { readFile } from '../../docs/pages.ts';
import { GUARD_PATH } from '../../../src/api/paths.ts';
import { MACHINE_CONFIGS_PATH, MCO_GROUP } from '../../../src/mco/api-paths.ts';
import type { Fault } from '../../support/faults.ts';
import { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import { skipWaits, StoppingApi } from '../steps/stopping-api.ts';

const TYPO = NEW.replace('rendered', 'render');

test('checks only the selected nodes and the pools that select them', async () => {
  const { run, cluster } = await startHealthyCluster();
  const stdout = expect.stringContaining('Fine: every config that 1 node and 1 pool reference exists.\n') as string;
  expect(await run('check')).toEqual({ exitCode: 0, stdout, stderr: '' });
  createNode(cluster, 'master-0', { currentConfig: GONE, desiredConfig: GONE }, 'master');
  // The other masters may not be selected, so none of them is missing.
  const data = { 'install-config': 'controlPlane: { replicas: 3 }\narbiter: { replicas: 1 }' };
  cluster.faults.intercept(({ path }) =>
    path.endsWith('/configmaps/cluster-config-v1') ? { status: 200, body: { data } } : 'pass',
  );
  createPool(cluster, 'master', {});
  const missing = 'have not joined: 2 master nodes and 1 arbiter node';
  expect((await run('check')).stdout.replaceAll(/\s+/g, ' ')).toContain(missing);
  const exitCodes: number[] = [];
  const selector = ['-l', 'node-role.kubernetes.io/worker'];
  for (const args of [[], ['--role', 'worker'], selector, [...selector, '--role', 'master']])
    exitCodes.push((await run('check', ...args)).exitCode);
  expect(exitCodes).toEqual([1, 0, 0, 1]);
  const empty = 'manages no node with label node-role.kubernetes.io/x (pools: master and worker).\n';
  expect((await run('check', '--role', 'x')).stdout).toContain(empty);
});

// redhatci/ansible-collection-redhatci-ocp#983: a hosted cluster serves the kinds, and has no objects.
test.each([
  ['a hosted cluster', '4ac3d1f5', ['TooFewNodes']],
  ['a cluster that has lost all configs and pools', GONE, ['PoolsMissing', 'ConfigMissing', 'NotReported']],
])('judges nodes of %s', async (_what, currentConfig, codes) => {
  const { run, cluster } = await startEmptyCluster();
  createNode(cluster, 'n0', { currentConfig, desiredConfig: '9b2e77aa', state: 'Degraded' });
  createNode(cluster, 'n1', {});
  const { problems } = JSON.parse((await run('check', '-o', 'json')).stdout) as CheckReport;
  const found = new Set(problems.map(({ code }) => code));
  expect([...found]).toEqual(codes);
});

test.each([
  ...['', 'a/b', '-a', 'a.', 'é', 'a,b', 'a'.repeat(64)].map((role): [string[], string] => [
    ['--role', role],
    'Must be a role, such as master or worker.',
  ]),
  [['--selector', ' '], 'Must not be empty'],
  [['--selector', 'a=b=c'], /: invalid label selector \(--role, --selector\): unable to parse .* "a=b=c"\n$/],
  [['--min-nodes', '0'], 'a whole number of at least 1'],
])('with %j, exits with 2', async (args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run('check', ...args)).toEqual(usageError(sentence));
});

test('retries if the API server is busy, and works without the right to read the guard', async () => {
  const { run, cluster } = await startHealthyCluster();
  let lists = 0;
  cluster.faults.intercept(({ path }) => {
    if (path === GUARD_PATH) return { status: 403 };
    if (path !== NODES_PATH) return 'pass';
    lists += 1;
    return lists === 1 ? { status: 429, headers: { 'retry-after': '1' } } : 'pass';
  });
  expect((await run('check')).exitCode).toBe(0);
  expect(lists).toBe(2);
});

test('the role of the readers names the objects that check and status read by their names, and no other', async () => {
  const { run, cluster } = await startHealthyCluster();
  const items = [{ metadata: { name: 'a' }, spec: { machineConfigPool: { name: 'worker' } } }];
  cluster.faults.intercept(({ path }) => {
    const [, , group = '', version = '', resource = ''] = path.split('/');
    const list = { apiVersion: `${group}/${version}`, kind: 'MachineOSConfigList', metadata: { resourceVersion: '1' } };
    return resource === 'machineosconfigs' ? { status: 200, body: { ...list, items } } : 'pass';
  });
  for (const command of ['check', 'status']) await run(command);
  const [role] = parseAllDocuments(readFile('manifests/base/reader-roles.yaml')).map(
    (document) => document.toJS() as { readonly rules: readonly Readonly<Record<string, readonly string[]>>[] },
  );
  const limited = (role?.rules ?? []).filter(({ resourceNames }) => resourceNames !== undefined);
  expect(limited).toHaveLength(3);
  for (const { resources: [resource = ''] = [], resourceNames = [] } of limited) {
    const read = cluster.faults.requests.flatMap(({ path }) => path.split(`/${resource}/`)[1] ?? []);
    expect([...new Set(read)].sort()).toEqual([...resourceNames].sort());
  }
});

test('judges ages by the clock of the API server', async () => {
  const { run, cluster } = await startHealthyCluster();
  const date = 'Wed, 01 Jan 2020 12:00:00 GMT';
  const isFirst = (path: string) => path === GUARD_PATH || path.endsWith('/certificatesigningrequests');
  cluster.faults.intercept(({ path }) => (isFirst(path) ? { status: 403, headers: { date } } : 'pass'));
  const { stdout } = await run('check', '--min-nodes', '1', '--output', 'json');
  const { checkedAt } = JSON.parse(stdout) as CheckReport;
  expect(checkedAt).toMatch(/^2020-01-01T12:0/);
});

test.each([
  ['True', 'OperatorDegraded', 1],
  ['False', undefined, 0],
])('reads whether the operator says that it fails: %s', async (status, code, exitCode) => {
  const { run, cluster } = await startHealthyCluster();
  const conditions = [
    { type: 'Available', status: 'True', message: 'runs' },
    { type: 'Degraded', status, reason: 'RenderConfigFailed', message: 'no ConfigMap' },
  ];
  cluster.faults.intercept(({ path }) =>
    path.endsWith('/config.openshift.io/v1/clusteroperators/machine-config')
      ? { status: 200, body: { metadata: { name: 'machine-config' }, status: { conditions } } }
      : 'pass',
  );
  const { stdout, exitCode: actual } = await run('check', '-o', 'json');
  const problems = (JSON.parse(stdout) as CheckReport).problems.map(({ code: found, evidence }) => ({
    code: found,
    evidence,
  }));
  expect(problems).toEqual(code === undefined ? [] : [{ code, evidence: 'no ConfigMap' }]);
  expect(actual).toBe(exitCode);
});

const PODS_PATH = '/api/v1/pods';
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

/** The cluster in memory has neither pods nor budgets. */
function answerDrain(path: string, pods: readonly object[] = [], budgets: readonly object[] = []): Fault {
  const toList = (apiVersion: string, kind: string, items: readonly object[]): Fault => {
    return { status: 200, body: { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: '1' }, items } };
  };
  if (path === PODS_PATH) return toList('v1', 'Pod', pods);
  return path.endsWith('/poddisruptionbudgets') ? toList('policy/v1', 'PodDisruptionBudget', budgets) : 'pass';
}

const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const POD = { metadata: { name: 'a', namespace: 'b', labels: { app: 'c' } }, status: READY };
const OF_MACHINE = { ...POD.metadata, ownerReferences: [{ kind: 'VirtualMachineInstance' }] };
const UNREADY_POD = { ...POD, status: { phase: 'Running' } };
const BUDGET = {
  metadata: { name: 'd', namespace: 'b' },
  spec: { selector: { matchLabels: POD.metadata.labels } },
  status: { disruptionsAllowed: 0, expectedPods: 1, currentHealthy: 0, desiredHealthy: 1 },
};
const OTHER_BUDGET = { ...BUDGET, metadata: { name: 'e', namespace: 'b' } };
const allow = (budget: typeof BUDGET) => ({ ...budget, status: { ...budget.status, disruptionsAllowed: 1 } });
const ENOUGH = { ...BUDGET, status: { ...BUDGET.status, currentHealthy: 1 } };

// kubernetes, pkg/registry/core/pod/storage/eviction.go
test.each([
  ['a pod', POD, [BUDGET], 1],
  ['a pod of a budget that allows it', POD, [allow(BUDGET)], 0],
  [
    'a pod of a budget without a count of its pods',
    POD,
    [{ ...BUDGET, status: { disruptionsAllowed: 0, expectedPods: 0, desiredHealthy: 0 } }],
    1,
  ],
  ['a pod that has succeeded', { ...POD, status: { phase: 'Succeeded' } }, [BUDGET], 0],
  ['a pod that has failed', { ...POD, status: { phase: 'Failed' } }, [BUDGET], 0],
  ['a pod that has not started', { ...POD, status: { phase: 'Pending' } }, [BUDGET], 0],
  ['a pod that ends', { ...POD, metadata: { ...POD.metadata, deletionTimestamp: TOMORROW } }, [BUDGET], 0],
  ['a pod that is not ready', UNREADY_POD, [BUDGET], 1],
  ['a pod that is not ready beside enough others', UNREADY_POD, [ENOUGH], 0],
  ['a pod that is ready beside just enough others', POD, [ENOUGH], 1],
  [
    'a pod that is not ready, and whose budget is about ready ones',
    UNREADY_POD,
    [{ ...BUDGET, spec: { ...BUDGET.spec, unhealthyPodEvictionPolicy: 'AlwaysAllow' } }],
    0,
  ],
  ['a pod of a virtual machine, which migrates first', { ...POD, metadata: OF_MACHINE }, [BUDGET], 0],
  ['a pod of a virtual machine and of two budgets', { ...POD, metadata: OF_MACHINE }, [BUDGET, OTHER_BUDGET], 1],
  ['a pod of two budgets that allow it', POD, [allow(BUDGET), allow(OTHER_BUDGET)], 1],
  [
    'a pod of a DaemonSet',
    { ...POD, metadata: { ...POD.metadata, ownerReferences: [{ kind: 'DaemonSet' }] } },
    [BUDGET],
    0,
  ],
  [
    'a static pod',
    { ...POD, metadata: { ...POD.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } } },
    [BUDGET],
    0,
  ],
])('a drain evicts %s or not, and waits for its budget', async (_case, pod, budgets, exitCode) => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: OLD, desiredDrain: 'drain-x', lastAppliedDrain: 'uncordon-x' });
  cluster.faults.intercept(({ path }) => answerDrain(path, [pod], budgets));
  expect((await run('check')).exitCode).toBe(exitCode);
});

const allowedAt = (lastTransitionTime: string) => {
  const conditions = [{ type: 'DisruptionAllowed', status: 'True', lastTransitionTime }];
  return { ...BUDGET, status: { ...BUDGET.status, disruptionsAllowed: 1, conditions } };
};

// The operator repeats a drain within 5 minutes (machine-config-operator, pkg/controller/drain).
test.each([
  ['whose budget blocks it', [POD], [BUDGET], false],
  ['whose budget has just allowed it', [POD], [allowedAt(new Date().toISOString())], true],
  ['whose budget allowed it long ago', [POD], [allowedAt('2026-01-01T00:00:00Z')], false],
  ['without a budget', [POD], [], false],
  ['without pods', [], [], true],
])('waits for a drain that has failed for an hour, %s', async (_case, pods, budgets, isAwaited) => {
  const { run, cluster } = await startHealthyCluster();
  const reason = 'failed to drain node: worker-0 after 1 hour';
  const drain = { desiredDrain: 'drain-x', lastAppliedDrain: 'uncordon-x' };
  annotate(cluster, 'worker-0', { desiredConfig: OLD, state: 'Degraded', reason, ...drain });
  cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: OLD } } });
  cluster.faults.intercept(({ path }) => answerDrain(path, pods, budgets));
  const { stdout } = await run('check', '-o', 'json');
  const { problems } = JSON.parse(stdout) as CheckReport;
  expect(problems.find(({ code }) => code === 'DrainBlocked')?.recoverable).toBe(isAwaited);
});

test('reads the pods of at most five nodes that drain', async () => {
  const { run, cluster } = await startHealthyCluster();
  for (let index = 0; index < 7; index += 1)
    createNode(cluster, `node-${index}`, { currentConfig: NEW, desiredConfig: OLD, desiredDrain: 'drain-x' });
  let lists = 0;
  cluster.faults.intercept(({ path }) => {
    if (path === PODS_PATH) lists += 1;
    return answerDrain(path);
  });
  await run('check');
  expect(lists).toBe(5);
});

test('names the MachineConfigs that no pool selects, and no others', async () => {
  const { run, cluster } = await startHealthyCluster();
  const role = (value: string) => ({ [`${MCO_GROUP}/role`]: value });
  cluster.patch('machineconfigpools', 'worker', {
    spec: { machineConfigSelector: { matchLabels: role('worker') }, configuration: { source: [{ name: '01-old' }] } },
  });
  const sources = { '01-old': {}, '99-worker': role('worker'), '99-wroker': role('wroker'), '99-none': {} };
  for (const [name, labels] of Object.entries(sources))
    cluster.create('machineconfigs', { metadata: { name, labels } });
  const { stdout, exitCode } = await run('check');
  const note = 'No machineConfigSelector selects these MachineConfigs, so they have no effect: 99-none and 99-wroker.';
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(note);
  expect(exitCode).toBe(0);
});

test.each([
  ['has judged', 1, 1],
  ['has not seen since its last change', 0, 0],
])('reads a failed KubeletConfig that the operator %s', async (_what, observedGeneration, exitCode) => {
  const { run, cluster } = await startHealthyCluster();
  const conditions = [{ type: 'Failure', status: 'False', message: 'Error: bad' }];
  cluster.create('kubeletconfigs', { metadata: { name: 'k' }, status: { observedGeneration, conditions } });
  expect((await run('check')).exitCode).toBe(exitCode);
});

test('reads a second time before it reports an unrecoverable problem', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: OLD });
  let lists = 0;
  cluster.faults.intercept(({ path }) => {
    if (path === MACHINE_CONFIGS_PATH) {
      lists += 1;
      // After the nodes were listed, the node moves to another config, and its old config is deleted.
      annotate(cluster, 'worker-0', { currentConfig: NEW });
      if (cluster.get('machineconfigs', OLD) !== undefined) cluster.erase('machineconfigs', OLD);
    }
    return 'pass';
  });
  expect((await run('check')).exitCode).toBe(0);
  expect(lists).toBe(2);
});

// test/docs/commands.test.ts compares the keys with the documentation, and diagnose.test.ts the problems.
test('prints each part of the report as JSON, with commands for the cluster of the flags', async () => {
  const { run, cluster, kubeconfig, address } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: TYPO, state: 'Working', reason: 'missing' });
  const danglingReferences = [{ config: TYPO, explanation: 'not seen' }, { config: NEW }, null];
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, status: { danglingReferences } });
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'planted' };
  for (const name of [NEW, OLD]) cluster.patch('machineconfigs', name, { metadata: { annotations } });
  const spec = { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' };
  cluster.create('certificatesigningrequests', { metadata: { name: 'csr-a' }, spec });
  const { exitCode, stdout, stderr } = await run('check', '--context', 'in-memory', '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const node = { pool: 'worker', currentConfig: NEW, desiredConfig: TYPO, state: 'Working', reason: 'missing' };
  const problem = { code: 'ConfigMissing', kind: 'Node', name: 'worker-0', field: 'desiredConfig', config: TYPO };
  const message = `${TYPO} does not exist; node worker-0 (desiredConfig) names it`;
  const oc = `oc --kubeconfig ${kubeconfig} --context in-memory`;
  const summary = { server: address, checkedAt: TIME, waitedSeconds: 0, ok: false, recoverable: false };
  expect(JSON.parse(stdout)).toMatchObject({
    ...summary,
    problems: [{ ...problem, recoverable: false, suggestion: NEW, explanation: 'not seen', deletedAt: null, message }],
    nodes: [{ name: 'worker-0', ok: false, conflictingPools: [], ...node }],
    overriddenConfigs: [NEW],
    pools: [{ name: 'worker', ok: true, specConfig: NEW, statusConfig: NEW, paused: false, machineCount: 1 }],
    pendingCertificateRequests: { readable: true, requests: [{ name: 'csr-a', node: 'worker-1', createdAt: TIME }] },
    repairs: [
      { command: expect.stringContaining(`${oc} annotate node worker-0 `) as string, alternative: false },
      { command: `${oc} adm certificate approve csr-a`, alternative: false },
    ],
  });
  const sentence = `annotation machineconfig-guard.io/allow-deletion lets any client delete them: ${NEW}.`;
  expect((await run('check')).stdout.replaceAll(/\s+/g, ' ')).toContain(`In use, but the ${sentence}`);
});

const SEEN = [{ config: GONE, deletedAt: '2026-11-20T11:58:01Z' }];
const BY_ALICE = ['2026-11-20T11:58:00Z', 'alice', 'CHG-1'] as const;
const ALLOWED = { [GONE]: { time: '2026-11-20T11:58:00Z', user: 'alice', reason: 'CHG-1' }, [OLD]: null };

test.each([
  ['only allowed', { deletions: ALLOWED }, ...BY_ALICE],
  ['only saw', { danglingReferences: SEEN }, '2026-11-20T11:58:01Z', null, null],
  ['allowed but did not see', { danglingReferences: [{ config: GONE }], deletions: ALLOWED }, ...BY_ALICE],
  ['allowed and saw', { danglingReferences: SEEN, deletions: ALLOWED }, '2026-11-20T11:58:01Z', 'alice', 'CHG-1'],
])('names who deleted a config if the guard %s the deletion', async (_case, status, deletedAt, deletedBy, reason) => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, status });
  const { stdout } = await run('check', '--output', 'json');
  expect(JSON.parse(stdout)).toMatchObject({
    problems: [{ config: GONE, deletedAt, deletedBy, deletionReason: reason }],
  });
});

test('--wait waits for a consistent cluster, and prints one line per change on stderr', async () => {
  const { cluster, run } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  // Early in an install the CRDs are missing.
  cluster.serve('machineconfigpools', []);
  let lists = 0;
  cluster.faults.intercept(({ path }) => {
    if (path.endsWith('/machineconfigpools')) lists += 1;
    if (lists === 2) cluster.serve('machineconfigpools', ['v1']);
    if (lists === 3) annotate(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
    return 'pass';
  });
  const { exitCode, stdout, stderr } = await run('check', '--wait', '--output', 'json');
  expect(exitCode).toBe(0);
  const report = JSON.parse(stdout) as CheckReport;
  expect(report).toMatchObject({ ok: true, recoverable: false, problems: [] });
  expect(report.waitedSeconds).toBeGreaterThan(0);
  expect(stderr).toMatch(
    /does not serve machineconfigpools.*\n.*problems with 1 of 2 nodes: node worker-1 has not reported.*\n$/,
  );
  for (const line of stderr.trimEnd().split('\n')) expect(line).toMatch(/^ {2,}\d+s {2}\S/);
});

test('--wait gives up after 30 s if the API server has never answered', async () => {
  const api = new StoppingApi(new InMemoryCluster(), 'connection lost', 0);
  skipWaits();
  const checking = checkCluster(api.client, { hasControlPlane: true, wait: { timeoutMs: 600_000 } });
  await expect(checking).rejects.toThrow('cannot get configmaps');
  expect(performance.now()).toBe(30_000);
});

test('--wait says how many seconds it has waited', async () => {
  const api = new StoppingApi(new InMemoryCluster());
  skipWaits();
  const wait = { timeoutMs: 60_000 };
  const { report } = await checkCluster(Object.assign(api.client, { now: () => new Date() }), {
    hasControlPlane: true,
    wait,
  });
  expect(report).toMatchObject({ ok: false, recoverable: true, waitedSeconds: 60 });
});

test('--wait exits with 1 immediately if a problem is unrecoverable', async () => {
  const { cluster, run } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: GONE });
  const stdout = expect.stringMatching(
    /oc --kubeconfig \S+ annotate node worker-0 [^]* Waiting does not help\.\n$/,
  ) as string;
  expect(await run('check', '--wait', '--timeout', '10m')).toMatchObject({ exitCode: 1, stdout });
});

test.each([401, 403])('--wait exits with 3 immediately if the API server answers %i', async (status) => {
  const { cluster, run } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === MACHINE_CONFIGS_PATH ? { status } : 'pass'));
  expect(await run('check', '--wait')).toMatchObject({
    exitCode: 3,
    stdout: '',
    stderr: expect.not.stringContaining('retrying') as string,
  });
});
