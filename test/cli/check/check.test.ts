import { expect, test } from 'vitest';
import { MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../../../src/kube/api-paths.ts';
import {
  annotate,
  createNode,
  createPool,
  GONE,
  type InspectedCluster,
  NEW,
  OLD,
  startEmptyCluster,
  startHealthyCluster,
} from '../inspected-cluster.ts';
import { usageError, runProgram } from '../run-program.ts';

const TEXT = expect.any(String) as string;
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/) as string;
const TYPO = NEW.replace('rendered', 'render');

test.each<[string, number, string[], (inspected: InspectedCluster) => void, RegExp]>([
  ['every config exists', 0, [], () => {}, /Fine: every config that 1 node and 1 pool name exists\.\n$/],
  [
    'a node names a missing config',
    1,
    [],
    ({ cluster }) => {
      annotate(cluster, 'worker-0', { currentConfig: GONE });
    },
    /does not exist; node worker-0 names it\.[^]*Not fine: 1 of 1 node\. Waiting does not heal this\.\n$/,
  ],
  [
    'a node has not reported',
    1,
    [],
    ({ cluster }) => {
      createNode(cluster, 'worker-1', {});
    },
    /Node worker-1 has not reported a configuration yet\.[^]*Waiting may heal this \(--wait\)\.\n$/,
  ],
  [
    'a node is between two configs and Degraded, and its pool is paused',
    0,
    [],
    ({ cluster }) => {
      annotate(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: NEW, state: 'Degraded', reason: 'disk full' });
      cluster.patch('machineconfigpools', 'worker', { spec: { paused: true } });
    },
    /ok, paused[^]*- worker-0: disk full/,
  ],
  ['no node has the label', 1, ['--selector', 'zone=mars'], () => {}, /Not fine: no node matches the selection\./],
  ['no node has the role', 1, ['--role', 'mister'], () => {}, /Not fine: no node matches the selection\./],
  ['there are too few nodes', 1, ['--min-nodes', '2'], () => {}, /only 1 node is in the cluster, 2 are needed/],
  ['there are enough nodes', 0, ['--min-nodes', '1'], () => {}, /Fine/],
])('if %s, exits with %i', async (_condition, exitCode, args, prepare, output) => {
  const inspected = await startHealthyCluster();
  prepare(inspected);
  const outcome = await inspected.run('check', ...args);
  expect(outcome).toMatchObject({ exitCode, stderr: '' });
  expect(outcome.stdout).toMatch(output);
});

test('if the cluster has no nodes, exits with 1', async () => {
  const { run } = await startEmptyCluster();
  const stdout = expect.stringContaining('Not fine: no node is in the cluster.') as string;
  expect(await run('check')).toMatchObject({ exitCode: 1, stdout });
});

test('checks only the selected nodes and the pools that select them', async () => {
  const { run, cluster } = await startHealthyCluster();
  createNode(cluster, 'master-0', { currentConfig: GONE, desiredConfig: GONE }, 'master');
  createPool(cluster, 'master', {});
  const exitCodes: number[] = [];
  const role = 'node-role.kubernetes.io';
  for (const args of [[], ['--role', 'worker'], ['--role', 'master'], ['-l', `${role}/worker`]]) {
    exitCodes.push((await run('check', ...args)).exitCode);
  }
  exitCodes.push((await run('check', '--role', 'worker', '--selector', `${role}/master`)).exitCode);
  expect(exitCodes).toEqual([1, 0, 1, 0, 1]);
});

test.each([
  [['--role', 'a/b'], 'A role is one word, such as master or worker.'],
  [['--selector', ' '], 'It must not be empty'],
  [['--selector', 'a=b=c'], /: --role and --selector do not make a label selector: unable to parse .* "a=b=c"\.\n$/],
  [['--min-nodes', '0'], 'a whole number from 1 on'],
  [['--timeout', '5m'], '--timeout says how long --wait waits: add --wait.'],
  [['--wait', '--timeout', 'soon'], 'A duration looks like 5s'],
  [['--output', 'yaml'], 'Allowed choices are table, json'],
  [['control0'], 'too many arguments'],
])('with %j, exits with 2', async (args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run('check', ...args)).toEqual(usageError(sentence));
});

test('with a kubeconfig that does not exist, exits with 2', async () => {
  const sentence = 'the kubeconfig /nowhere (from --kubeconfig) does not exist\n';
  expect(await runProgram(['check', '--kubeconfig', '/nowhere'])).toEqual(usageError(sentence));
});

test.each([
  [NODES_PATH, 403, 'does not permit you to list nodes'],
  [POOLS_PATH, 403, 'does not permit you to list machineconfigpools'],
  [POOLS_PATH, 404, 'does not serve machineconfigpools'],
  [MACHINE_CONFIGS_PATH, 403, 'does not permit you to list machineconfigs'],
  [MACHINE_CONFIGS_PATH, 404, 'does not serve machineconfigs'],
])('if the list of %s returns %i, exits with 3', async (path, status, sentence) => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept((request) => (request.path === path ? { status } : 'pass'));
  const stderr = expect.stringContaining(sentence) as string;
  expect(await run('check')).toEqual({ exitCode: 3, stdout: '', stderr });
});

test('if the API server is unreachable, exits with 3', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  await cluster.faults.goDown();
  const stderr = `machineconfig-guard: cannot list nodes: ${address} cannot be reached: ECONNREFUSED.\n`;
  expect(await run('check')).toEqual({ exitCode: 3, stdout: '', stderr });
});

test('retries if the API server is busy', async () => {
  const { run, cluster } = await startHealthyCluster();
  let lists = 0;
  cluster.faults.intercept(({ path }) => {
    if (path !== NODES_PATH) return 'pass';
    lists += 1;
    return lists === 1 ? { status: 429, headers: { 'retry-after': '1' } } : 'pass';
  });
  expect((await run('check')).exitCode).toBe(0);
  expect(lists).toBe(2);
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

test('shows pending certificate requests or why they are unreadable, and exits with 0', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.create('certificatesigningrequests', {
    metadata: { name: 'csr-8vnps' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:control0' },
  });
  const stdout = expect.stringMatching(/^csr-8vnps {2}\d+s +kubelet-serving {2}control0$/m) as string;
  expect(await run('check')).toMatchObject({ exitCode: 0, stdout });

  cluster.faults.intercept(({ path }) =>
    /certificates\.k8s\.io|machineconfig-guard\.io/.test(path) ? { status: 403 } : 'pass',
  );
  const denied = await run('check');
  expect(denied.exitCode).toBe(0);
  expect(denied.stdout.replaceAll(/\s+/g, ' ')).toContain(
    '(you may not list certificatesigningrequests.certificates.k8s.io)',
  );
});

test('prints exactly the documented JSON keys', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: TYPO, state: 'Degraded', reason: 'missing' });
  cluster.create('machineconfigguards', {
    metadata: { name: 'cluster' },
    status: {
      danglingReferences: [
        { kind: 'Node', name: 'worker-0', config: TYPO, explanation: 'never seen in this cluster' },
        { kind: 'Node', name: 'worker-0', config: NEW },
        null,
      ],
    },
  });
  cluster.create('certificatesigningrequests', {
    metadata: { name: 'csr-a' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' },
  });
  const { exitCode, stdout, stderr } = await run('check', '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const node = { name: 'worker-0', ok: false, pool: 'worker', currentConfig: NEW, desiredConfig: TYPO };
  const pool = { name: 'worker', ok: true, specConfig: NEW, statusConfig: NEW, paused: false, terminating: false };
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    checkedAt: TIME,
    waitedSeconds: 0,
    ok: false,
    canHeal: false,
    nodes: [{ ...node, state: 'Degraded', reason: 'missing' }],
    pools: [{ ...pool, machineCount: 1, updatedMachineCount: 1 }],
    problems: [
      {
        code: 'ConfigMissing',
        kind: 'Node',
        name: 'worker-0',
        field: 'desiredConfig',
        config: TYPO,
        canHeal: false,
        suggestion: NEW,
        explanation: 'never seen in this cluster',
        message: `node worker-0: desiredConfig ${TYPO} does not exist`,
      },
    ],
    pendingCertificateRequests: {
      readable: true,
      reason: null,
      requests: [{ name: 'csr-a', node: 'worker-1', signer: 'kubernetes.io/kubelet-serving', createdAt: TIME }],
    },
    repairs: [
      { what: TEXT, command: expect.stringMatching(/^oc annotate node worker-0 /) as string },
      { what: TEXT, command: 'oc adm certificate approve csr-a' },
    ],
  });
});

test('prints null for unknown JSON values', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.create('nodes', { metadata: { name: 'new' } });
  cluster.create('machineconfigpools', { metadata: { name: 'empty' } });
  const { stdout } = await run('check', '--output', 'json', '--min-nodes', '3');
  const nulls = { config: null, suggestion: null, explanation: null };
  expect(JSON.parse(stdout)).toMatchObject({
    nodes: [{ pool: null, currentConfig: null, desiredConfig: null, state: '', reason: '' }, {}],
    pools: [{ specConfig: null, statusConfig: null, machineCount: 0 }, {}],
    problems: [
      { code: 'TooFewNodes', kind: null, name: null, field: null, ...nulls },
      { code: 'NotReported', kind: 'Node', name: 'new', field: null, ...nulls },
      { code: 'SpecEmpty', kind: 'MachineConfigPool', name: 'empty', field: 'spec', ...nulls },
      { code: 'StatusEmpty', field: 'status' },
    ],
  });
});
