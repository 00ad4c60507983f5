import { expect, test } from 'vitest';
import { verifiedCluster } from './verified-cluster.ts';

const NOT_PERMITTED = {
  kind: 'Status',
  reason: 'Forbidden',
  message: 'User "x" cannot delete resource "machineconfigs"',
};

test.each<[string, string, string, string]>([
  ['GET', '/machineconfigguards/cluster', 'get', 'machineconfigguards.machineconfig-guard.io'],
  ['GET', '/validatingwebhookconfigurations', 'list', 'validatingwebhookconfigurations.admissionregistration.k8s.io'],
  [
    'GET',
    '/validatingadmissionpolicybindings/nodes.machineconfig-guard.io',
    'get',
    'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  ],
  ['GET', '/nodes', 'list', 'nodes'],
  ['GET', '/machineconfigpools', 'list', 'machineconfigpools'],
  ['GET', '/machineconfigs', 'list', 'machineconfigs.machineconfiguration.openshift.io'],
  ['DELETE', '/machineconfig-guard-verify', 'delete', 'machineconfigs.machineconfiguration.openshift.io'],
])('%s %s is not permitted: exit code 3, and which right it is', async (method, path, verb, resource) => {
  const { run, sandbox, address } = await verifiedCluster();
  sandbox.faults.intercept((request) =>
    request.method === method && request.path.endsWith(path) ? { status: 403, body: NOT_PERMITTED } : 'pass',
  );

  const { exitCode, stderr } = await run('verify');

  expect([exitCode, stderr]).toEqual([
    3,
    `machineconfig-guard: the API server at ${address} does not permit you to ${verb} ${resource} (check with: oc auth can-i ${verb} ${resource}).\n`,
  ]);
});

test('no OpenShift: exit code 3, and it says so', async () => {
  const { run, sandbox, deletions } = await verifiedCluster();
  sandbox.serve('machineconfigs', []);

  const { exitCode, stderr } = await run('verify');

  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/does not serve machineconfigs\S+: it is not OpenShift, or [^\n]+\n$/);
  expect(deletions).toEqual([]);
});

test.each([
  [429, 'Too many requests, please try again later.'],
  [500, 'etcdserver: request timed out'],
  [503, 'the server is currently unable to handle the request'],
])('the API server answers %i before it asks anybody: that says nothing about the guard', async (status, message) => {
  const { run, sandbox } = await verifiedCluster();
  sandbox.faults.intercept(({ method, query }) =>
    method === 'DELETE' && query.get('dryRun') === 'All' ? { status, body: { kind: 'Status', message } } : 'pass',
  );

  const { exitCode, stdout, stderr } = await run('verify');

  expect(exitCode).toBe(3);
  expect(stderr).toContain(`answered ${status} to delete machineconfigs.machineconfiguration.openshift.io: ${message}`);
  expect(stdout).not.toMatch(/protected/i);
});

test('it goes away in the middle: exit code 3', async () => {
  const { run, sandbox } = await verifiedCluster();
  sandbox.faults.intercept(({ method }) => (method === 'DELETE' ? 'reset' : 'pass'));

  const { exitCode, stderr } = await run('verify');

  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/^machineconfig-guard: cannot delete machineconfigs\S+: [^\n]+ECONNRESET\.\n$/);
});

test('bad flags: exit code 2', async () => {
  const { run } = await verifiedCluster();
  expect(await run('verify', '--output', 'yaml')).toMatchObject({ exitCode: 2, stdout: '' });
  expect(await run('verify', 'something')).toMatchObject({ exitCode: 2, stdout: '' });
});
