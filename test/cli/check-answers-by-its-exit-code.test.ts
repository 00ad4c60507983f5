import { expect, test } from 'vitest';
import type { SeenRequest } from '../support/faults.ts';
import {
  annotate,
  createNode,
  createPool,
  GONE,
  healthyCluster,
  inspectedCluster,
  NEW,
  OLD,
} from './inspected-cluster.ts';
import { runProgram } from './run-program.ts';

const MCO = '/apis/machineconfiguration.openshift.io/v1';

test('0: every config that nodes and pools name exists', async () => {
  const { run } = await healthyCluster();
  const { exitCode, stdout, stderr } = await run('check');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('Fine: every config that 1 node and 1 pool name exists.');
});

test('1: a node names a config that does not exist, and the last line says so', async () => {
  const { run, sandbox } = await healthyCluster();
  annotate(sandbox, 'worker-0', { currentConfig: GONE });
  const { exitCode, stdout, stderr } = await run('check');
  expect([exitCode, stderr]).toEqual([1, '']);
  expect(stdout).toContain(`${GONE} does not exist; node worker-0 names it.`);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('Not fine: 1 of 1 node. Waiting does not heal this.');
});

test('1: a node has not reported yet', async () => {
  const { run, sandbox } = await healthyCluster();
  createNode(sandbox, 'worker-1', {});
  const { exitCode, stdout } = await run('check');
  expect(exitCode).toBe(1);
  expect(stdout).toContain('Node worker-1 has not reported a configuration yet.');
  expect(stdout).toContain('Waiting may heal this (--wait).');
});

test.each([
  ['a cluster without nodes', [], 'Not fine: no node is in the cluster.'],
  ['a selector that matches none', ['--selector', 'zone=mars'], 'Not fine: no node matches the selection.'],
  ['a role that none has', ['--role', 'mister'], 'Not fine: no node matches the selection.'],
])('1: %s', async (_what, args, sentence) => {
  const { run, sandbox } = args.length === 0 ? await inspectedCluster() : await healthyCluster();
  expect(sandbox.list('nodes')).toHaveLength(args.length === 0 ? 0 : 1);
  const { exitCode, stdout, stderr } = await run('check', ...args);
  expect([exitCode, stderr]).toEqual([1, '']);
  expect(stdout).toContain(sentence);
});

test('1: fewer nodes than there have to be', async () => {
  const { run } = await healthyCluster();
  expect(await run('check', '--min-nodes', '2')).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('only 1 node is in the cluster, 2 are needed'),
  });
  expect(await run('check', '--min-nodes', '1')).toMatchObject({ exitCode: 0 });
});

test('of some nodes only those and their pools decide', async () => {
  const { run, sandbox } = await healthyCluster();
  createNode(sandbox, 'master-0', { currentConfig: GONE, desiredConfig: GONE }, 'master');
  createPool(sandbox, 'master', {});
  expect((await run('check')).exitCode).toBe(1);
  expect((await run('check', '--role', 'worker')).exitCode).toBe(0);
  expect((await run('check', '--role', 'master')).exitCode).toBe(1);
  expect((await run('check', '-l', 'node-role.kubernetes.io/worker')).exitCode).toBe(0);
  expect((await run('check', '--role', 'worker', '--selector', 'node-role.kubernetes.io/master')).exitCode).toBe(1);
});

test('a roll-out and a paused pool are fine, whatever the nodes say of their state', async () => {
  const { run, sandbox } = await healthyCluster();
  annotate(sandbox, 'worker-0', { currentConfig: OLD, desiredConfig: NEW, state: 'Degraded', reason: 'disk full' });
  sandbox.patch('machineconfigpools', 'worker', { spec: { paused: true } });
  const { exitCode, stdout } = await run('check');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('ok, paused');
  expect(stdout).toContain('- worker-0: disk full');
});

test.each([
  [['--role', 'a/b'], 'A role is one word, such as master or worker.'],
  [['--selector', ' '], 'It must not be empty'],
  [['--min-nodes', '0'], 'a whole number from 1 on'],
  [['--timeout', '5m'], '--timeout says how long --wait waits: add --wait.'],
  [['--wait', '--timeout', 'soon'], 'A duration looks like 5s'],
  [['--output', 'yaml'], 'Allowed choices are table, json'],
  [['control0'], 'too many arguments'],
])('2: %j', async (args, sentence) => {
  const { run } = await healthyCluster();
  const { exitCode, stdout, stderr } = await run('check', ...args);
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toContain(sentence);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('2: a selector that the API server cannot read, in its own words', async () => {
  const { run } = await healthyCluster();
  expect(await run('check', '--selector', 'a=b=c')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      'machineconfig-guard: --role and --selector do not make a label selector: unable to parse requirement: "a=b=c".\n',
  });
});

test.each([
  ['/api/v1/nodes', 'nodes'],
  [`${MCO}/machineconfigpools`, 'machineconfigpools.machineconfiguration.openshift.io'],
  [`${MCO}/machineconfigs`, 'machineconfigs.machineconfiguration.openshift.io'],
])('3: not permitted to list %s', async (path, resource) => {
  const { run, sandbox, address } = await healthyCluster();
  sandbox.faults.intercept((request) => (request.path === path ? { status: 403, body: { kind: 'Status' } } : 'pass'));
  expect(await run('check')).toEqual({
    exitCode: 3,
    stdout: '',
    stderr: `machineconfig-guard: the API server at ${address} does not permit you to list ${resource}; the role cluster-reader does (check with: oc auth can-i list ${resource}).\n`,
  });
});

test.each([
  ['machineconfigpools', 'machineconfigpools'],
  ['machineconfigs', 'machineconfigs'],
])('3: %s are not served', async (resource) => {
  const { run, sandbox, address } = await healthyCluster();
  sandbox.serve(resource, []);
  expect(await run('check')).toEqual({
    exitCode: 3,
    stdout: '',
    stderr: `machineconfig-guard: the API server at ${address} does not serve ${resource}.machineconfiguration.openshift.io: it is not OpenShift, or the Machine Config Operator is not installed yet.\n`,
  });
});

test('3: the credentials are not accepted', async () => {
  const { run, sandbox, address } = await healthyCluster();
  sandbox.faults.intercept(() => ({ status: 401, body: { kind: 'Status', reason: 'Unauthorized' } }));
  expect(await run('check')).toMatchObject({
    exitCode: 3,
    stderr: `machineconfig-guard: the API server at ${address} does not accept the credentials of this kubeconfig; log in again (oc login).\n`,
  });
});

test('3: nobody answers at the address', async () => {
  const { run, sandbox, address } = await healthyCluster();
  await sandbox.faults.goDown();
  const { exitCode, stdout, stderr } = await run('check');
  expect([exitCode, stdout]).toEqual([3, '']);
  expect(stderr).toMatch(/^machineconfig-guard: cannot list \S+: \S+ cannot be reached: ECONNREFUSED\.\n$/);
  expect(stderr).toContain(address);
});

test('2: a kubeconfig that does not exist', async () => {
  expect(await runProgram(['check', '--kubeconfig', '/does/not/exist'])).toMatchObject({
    exitCode: 2,
    stderr: 'machineconfig-guard: the kubeconfig /does/not/exist (from --kubeconfig) does not exist\n',
  });
});

test('an API server that is busy for a moment is asked again', async () => {
  const { run, sandbox } = await healthyCluster();
  let asked = 0;
  sandbox.faults.intercept(({ path }: SeenRequest) => {
    if (path !== '/api/v1/nodes') return 'pass';
    asked += 1;
    return asked === 1 ? { status: 429, headers: { 'retry-after': '1' } } : 'pass';
  });
  expect((await run('check')).exitCode).toBe(0);
  expect(asked).toBe(2);
});

test('what waiting does not heal is looked at twice: a config may go between two lists with good reason', async () => {
  const { run, sandbox } = await healthyCluster();
  annotate(sandbox, 'worker-0', { currentConfig: OLD });
  let lists = 0;
  sandbox.faults.intercept(({ path }: SeenRequest) => {
    if (path === `${MCO}/machineconfigs`) {
      lists += 1;
      // The node has moved on after it was read, and its old config was pruned.
      annotate(sandbox, 'worker-0', { currentConfig: NEW });
      if (sandbox.get('machineconfigs', OLD) !== undefined) sandbox.erase('machineconfigs', OLD);
    }
    return 'pass';
  });
  expect((await run('check')).exitCode).toBe(0);
  expect(lists).toBe(2);
});

test('pending certificate requests are shown and decide nothing; nor does it matter that they may not be seen', async () => {
  const { run, sandbox } = await healthyCluster();
  sandbox.create('certificatesigningrequests', {
    metadata: { name: 'csr-8vnps' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:control0' },
  });
  const seen = await run('check');
  expect(seen.exitCode).toBe(0);
  expect(seen.stdout).toMatch(/^csr-8vnps {2}\d+s +kubelet-serving {2}control0$/m);

  sandbox.faults.intercept(({ path }: SeenRequest) =>
    /certificates\.k8s\.io|machineconfig-guard\.io/.test(path) ? { status: 403 } : 'pass',
  );
  const unseen = await run('check');
  expect(unseen.exitCode).toBe(0);
  expect(unseen.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Pending certificate requests of nodes are not shown: they could not be read (you may not list certificatesigningrequests.certificates.k8s.io).',
  );
});
