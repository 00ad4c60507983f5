import { expect, test } from 'vitest';
import { GUARD_PATH, MACHINE_CONFIGS_PATH, NODES_PATH } from '../../../src/kube/api-paths.ts';
import {
  annotate,
  createNode,
  createPool,
  GONE,
  holdUnusedConfigs,
  NEW,
  OLD,
  startHealthyCluster,
  TIME,
} from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';

const TYPO = NEW.replace('rendered', 'render');

test.each([
  [[], 0, 'Fine: every config that 1 node and 1 pool reference exists.\n'],
  [['--role', 'x'], 1, 'Not fine: no node has label node-role.kubernetes.io/x. Roles here: worker.\n'],
])('with %j, exits with %i', async (args, exitCode, text) => {
  const { run } = await startHealthyCluster();
  const stdout = expect.stringContaining(text) as string;
  expect(await run('check', ...args)).toMatchObject({ exitCode, stdout, stderr: '' });
});

test('checks only the selected nodes and the pools that select them', async () => {
  const { run, cluster } = await startHealthyCluster();
  createNode(cluster, 'master-0', { currentConfig: GONE, desiredConfig: GONE }, 'master');
  createPool(cluster, 'master', {});
  const exitCodes: number[] = [];
  const selector = ['-l', 'node-role.kubernetes.io/worker'];
  for (const args of [[], ['--role', 'worker'], selector, [...selector, '--role', 'master']]) {
    exitCodes.push((await run('check', ...args)).exitCode);
  }
  expect(exitCodes).toEqual([1, 0, 0, 1]);
});

test.each([
  [['--role', 'a/b'], 'Must be a role, such as master or worker.'],
  [['--selector', ' '], 'Must not be empty'],
  [['--selector', 'a=b=c'], /: invalid label selector \(--role, --selector\): unable to parse .* "a=b=c"\n$/],
  [['--min-nodes', '0'], 'a whole number of at least 1'],
  [['--timeout', '5m'], '--timeout needs --wait\n'],
])('with %j, exits with 2', async (args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run('check', ...args)).toEqual(usageError(sentence));
});

interface Holds {
  readonly holdSeconds: number | null;
  readonly pools: readonly { readonly name: string; readonly heldUntil: string | null }[];
}

test('shows until when the guard holds unused configs', async () => {
  const { run, cluster } = await startHealthyCluster();
  holdUnusedConfigs(cluster, '1h');

  const { exitCode, stdout } = await run('check');
  expect(exitCode).toBe(0);
  expect(stdout.replaceAll('\n', ' ')).toMatch(
    /unused configs of pool worker, until \S+Z at the latest\. Next: list all with: +\S+ who-uses .* --unused/,
  );
  const report = JSON.parse((await run('check', '-o', 'json')).stdout) as Holds;
  expect(report).toMatchObject({ holdSeconds: 3_600, pools: [{ name: 'worker', heldUntil: TIME }] });
});

test.each([
  ['only selected nodes were read', ['--role', 'worker'], 'pass', { holdSeconds: null }],
  ['the guard is unreadable', [], { status: 403 }, { holdSeconds: null }],
  ['no guard is installed', [], { status: 404 }, { holdSeconds: 0 }],
] as const)('guesses no hold if %s', async (_condition, args, fault, expected) => {
  const { run, cluster } = await startHealthyCluster();
  holdUnusedConfigs(cluster, '1h');
  cluster.faults.intercept(({ path }) => (path === GUARD_PATH ? fault : 'pass'));
  const { stdout } = await run('check', '-o', 'json', ...args);
  expect(JSON.parse(stdout)).toMatchObject({ ...expected, pools: [{ heldUntil: null }] });
});

test('a pool without unused configs is not held', async () => {
  const { run, cluster } = await startHealthyCluster();
  holdUnusedConfigs(cluster, '1h');
  cluster.erase('machineconfigs', OLD);
  expect((await run('check')).stdout).not.toContain('holds');
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

test('prints exactly the documented JSON keys', async () => {
  const { run, cluster, kubeconfig, address } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: TYPO, state: 'Degraded', reason: 'missing' });
  const danglingReferences = [{ config: TYPO, explanation: 'never seen in this cluster' }, { config: NEW }, null];
  cluster.create('machineconfigguards', {
    metadata: { name: 'cluster' },
    status: { danglingReferences },
  });
  cluster.create('certificatesigningrequests', {
    metadata: { name: 'csr-a' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' },
  });
  const { exitCode, stdout, stderr } = await run('check', '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const node = {
    name: 'worker-0',
    ok: false,
    pool: 'worker',
    currentConfig: NEW,
    desiredConfig: TYPO,
  };
  const pool = {
    name: 'worker',
    ok: true,
    specConfig: NEW,
    statusConfig: NEW,
  };
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    checkedAt: TIME,
    waitedSeconds: 0,
    ok: false,
    recoverable: false,
    holdSeconds: 7_200,
    nodes: [{ ...node, state: 'Degraded', reason: 'missing' }],
    skippedNodes: [],
    pools: [
      {
        ...pool,
        paused: false,
        terminating: false,
        machineCount: 1,
        updatedMachineCount: 1,
        heldUntil: TIME,
      },
    ],
    problems: [
      {
        code: 'ConfigMissing',
        kind: 'Node',
        name: 'worker-0',
        field: 'desiredConfig',
        config: TYPO,
        recoverable: false,
        suggestion: NEW,
        explanation: 'never seen in this cluster',
        message: `node worker-0: desiredConfig ${TYPO} does not exist`,
      },
    ],
    pendingCertificateRequests: {
      readable: true,
      reason: null,
      requests: [
        {
          name: 'csr-a',
          node: 'worker-1',
          signer: 'kubernetes.io/kubelet-serving',
          createdAt: TIME,
        },
      ],
    },
    repairs: [
      {
        text: expect.any(String) as string,
        command: `oc --kubeconfig ${kubeconfig} adm certificate approve csr-a`,
        alternative: false,
      },
      {
        text: expect.any(String) as string,
        command: expect.stringMatching(/^oc --kubeconfig \S+ annotate /) as string,
        alternative: true,
      },
    ],
  });
});

test('names the kubeconfig and the context in the repair commands of the table and of the JSON', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: TYPO, state: 'Degraded' });
  const { stdout: json } = await run('check', '--context', 'in-memory', '--output', 'json');
  const command = expect.stringMatching(/^oc --kubeconfig \S+ --context in-memory annotate node worker-0 /) as string;
  expect(JSON.parse(json)).toMatchObject({ repairs: [{ command }] });
  const { stdout: table } = await run('check', '--context', 'in-memory');
  expect(table).toMatch(/\n {2}# oc --kubeconfig \S+ --context in-memory annotate node worker-0 --overwrite \\\n/);
});

test('prints null for unknown JSON values', async () => {
  const { run, cluster } = await startHealthyCluster();
  createNode(cluster, 'new', {});
  cluster.create('machineconfigpools', { metadata: { name: 'empty' } });
  const { stdout } = await run('check', '--output', 'json', '--min-nodes', '3');
  const unknown = { suggestion: null, explanation: null };
  expect(JSON.parse(stdout)).toMatchObject({
    nodes: [
      {
        currentConfig: null,
        desiredConfig: null,
        state: '',
        reason: '',
      },
      {},
    ],
    pools: [{ specConfig: null, statusConfig: null, machineCount: 0 }, {}],
    problems: [
      {
        code: 'TooFewNodes',
        kind: null,
        name: null,
        field: null,
        config: null,
        ...unknown,
      },
      { code: 'NotReported', kind: 'Node', name: 'new', field: null },
      { code: 'SpecEmpty', kind: 'MachineConfigPool', name: 'empty', field: 'spec' },
    ],
  });
});
