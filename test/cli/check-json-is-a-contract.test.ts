import { expect, test } from 'vitest';
import { annotate, healthyCluster, NEW } from './inspected-cluster.ts';

const TEXT = expect.any(String) as string;
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/) as string;
const TYPO = NEW.replace('rendered', 'render');

/** Exactly these keys, with values of these types. One that goes away or is renamed breaks other people's scripts. */
test('of a cluster that is not fine', async () => {
  const { run, sandbox, address } = await healthyCluster();
  annotate(sandbox, 'worker-0', { desiredConfig: TYPO, state: 'Degraded', reason: 'missing' });
  sandbox.create('machineconfigguards', {
    metadata: { name: 'cluster' },
    status: {
      danglingReferences: [
        { kind: 'Node', name: 'worker-0', config: TYPO, explanation: 'never seen in this cluster' },
        { kind: 'Node', name: 'worker-0', config: NEW },
        null,
      ],
    },
  });
  sandbox.create('certificatesigningrequests', {
    metadata: { name: 'csr-a' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' },
  });
  const { exitCode, stdout, stderr } = await run('check', '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    checkedAt: TIME,
    waitedSeconds: 0,
    ok: false,
    canHeal: false,
    nodes: [
      {
        name: 'worker-0',
        ok: false,
        pool: 'worker',
        currentConfig: NEW,
        desiredConfig: TYPO,
        state: 'Degraded',
        reason: 'missing',
      },
    ],
    pools: [
      {
        name: 'worker',
        ok: true,
        specConfig: NEW,
        statusConfig: NEW,
        paused: false,
        terminating: false,
        machineCount: 1,
        updatedMachineCount: 1,
      },
    ],
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

test('what is not known is null, and lists are there although they are empty', async () => {
  const { run, sandbox } = await healthyCluster();
  sandbox.faults.intercept(({ path }) => (path.includes('certificates.k8s.io') ? { status: 403 } : 'pass'));
  sandbox.create('nodes', { metadata: { name: 'new' } });
  sandbox.create('machineconfigpools', { metadata: { name: 'empty' } });
  const { stdout } = await run('check', '--output', 'json', '--min-nodes', '3');
  expect(JSON.parse(stdout)).toMatchObject({
    nodes: [
      { name: 'new', ok: false, pool: null, currentConfig: null, desiredConfig: null, state: '', reason: '' },
      { name: 'worker-0' },
    ],
    pools: [{ name: 'empty', specConfig: null, statusConfig: null, machineCount: 0 }, { name: 'worker' }],
    problems: [
      { code: 'TooFewNodes', kind: null, name: null, field: null, config: null, suggestion: null, explanation: null },
      { code: 'NotReported', kind: 'Node', name: 'new', field: null },
      { code: 'SpecEmpty', kind: 'MachineConfigPool', name: 'empty', field: 'spec' },
      { code: 'StatusEmpty', field: 'status' },
    ],
    pendingCertificateRequests: { readable: false, reason: TEXT, requests: [] },
    repairs: [],
  });
});
