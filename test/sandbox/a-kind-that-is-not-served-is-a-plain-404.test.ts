import { expect, test } from 'vitest';
import { NODES, startTestCluster } from '../support/test-cluster.ts';

const BUILDS = '/apis/machineconfiguration.openshift.io/v1/machineosbuilds';
const ALPHA_BUILDS = '/apis/machineconfiguration.openshift.io/v1alpha1/machineosbuilds';

test('without its definition a kind answers as an unknown path does', async () => {
  const sandbox = await startTestCluster();
  expect((await sandbox.request('GET', BUILDS)).status).toBe(200);
  sandbox.serve('machineosbuilds', []);
  const { status, text, headers } = await sandbox.request('GET', BUILDS);
  expect([status, text]).toEqual([404, '404 page not found\n']);
  expect(headers['content-type']).toContain('text/plain');
  expect((await sandbox.request('GET', '/apis/nobody.example/v1/knows')).text).toBe('404 page not found\n');
});

test('a kind is served at the versions that are asked for', async () => {
  const sandbox = await startTestCluster();
  expect((await sandbox.request('GET', ALPHA_BUILDS)).status).toBe(404);
  sandbox.serve('machineosbuilds', ['v1alpha1']);
  sandbox.create('machineosbuilds', { metadata: { name: 'b' } });
  expect((await sandbox.request('GET', BUILDS)).status).toBe(404);
  expect((await sandbox.request('GET', `${ALPHA_BUILDS}/b`)).body).toMatchObject({
    apiVersion: 'machineconfiguration.openshift.io/v1alpha1',
  });
});

test('an object that is not there is a Status instead', async () => {
  const sandbox = await startTestCluster();
  const { status, body } = await sandbox.request('GET', `${NODES}/nobody`);
  expect(status).toBe(404);
  expect(body).toMatchObject({ kind: 'Status', reason: 'NotFound', message: 'nodes "nobody" not found' });
});

test('the directory lists what is served, and nothing else', async () => {
  const sandbox = await startTestCluster();
  sandbox.serve('machineosbuilds', ['v1alpha1']);
  const namesAt = async (path: string): Promise<unknown[]> => {
    const { body } = await sandbox.request('GET', path);
    return (body as { resources: { name: string }[] }).resources.map(({ name }) => name);
  };
  const group = '/apis/machineconfiguration.openshift.io';
  expect(await namesAt(`${group}/v1`)).toEqual(['machineconfigs', 'machineconfigpools']);
  expect(await namesAt(`${group}/v1alpha1`)).toEqual(['machineosbuilds']);
  const { body } = await sandbox.request('GET', '/apis');
  expect(body).toMatchObject({ kind: 'APIGroupList' });
  expect((body as { groups: object[] }).groups).toContainEqual({
    name: 'machineconfiguration.openshift.io',
    versions: [
      { groupVersion: 'machineconfiguration.openshift.io/v1', version: 'v1' },
      { groupVersion: 'machineconfiguration.openshift.io/v1alpha1', version: 'v1alpha1' },
    ],
  });
  sandbox.serve('machineosbuilds', []);
  expect((await sandbox.request('GET', `${group}/v1alpha1`)).text).toBe('404 page not found\n');
});
