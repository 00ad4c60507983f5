import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { KubeClient, statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const ANNOTATION = 'machineconfig-guard.io/allow-deletion';
const COMPONENT = join(MANIFESTS, 'components', 'override-policy');

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const { admin } = cluster;
/** May patch every MachineConfig and create any, but may delete only the config `deletable`. */
let editor: KubeClient;
let config: string;
let deletable: string;

beforeAll(async () => {
  await installed.applyOverlay(COMPONENT);
  [config, deletable] = [await cluster.config(), await cluster.config()];
  const rule = { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigs'] };
  const rules = [
    { ...rule, verbs: ['get', 'patch', 'create'] },
    { ...rule, verbs: ['delete'], resourceNames: [deletable] },
  ];
  const token = await createServiceAccount(admin, 'override-editor', rules);
  editor = new KubeClient({ ...admin.connection, token });
  const isDenied = async () => (await annotate(editor, config, 'probe', { dryRun: 'All' })).status === 403;
  await until('the policy', isDenied);
});

afterAll(() => installed.deleteOverlay(COMPONENT));

function annotate(client: KubeClient, name: string, value: string | null, query = {}) {
  const patch = { metadata: { annotations: { [ANNOTATION]: value } } };
  return client.request('PATCH', `${PATHS.configs}/${name}`, patch, { query });
}

test('only a user who may delete a config can allow its deletion, and everybody can take it back', async () => {
  const denied = await annotate(editor, config, 'CHG-7');
  expect([denied.status, statusOf(denied).message]).toEqual([
    403,
    expect.stringContaining(
      `override-editor may not delete machineconfig ${config}, and so may not set its annotation`,
    ),
  ]);
  expect((await annotate(editor, deletable, 'CHG-7')).status).toBe(200);
  expect((await annotate(admin, config, 'CHG-7')).status).toBe(200);
  // A change of the reason is a new one.
  expect((await annotate(editor, config, 'CHG-8')).status).toBe(403);
  expect((await annotate(editor, config, null)).status).toBe(200);
});

test('a user who may not delete configs can create and change them without the annotation', async () => {
  const toConfig = (name: string, annotations = {}) => {
    const object = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig', spec: {} };
    return editor.request('POST', PATHS.configs, { ...object, metadata: { name, annotations } });
  };
  expect((await toConfig('rendered-override-policy', { [ANNOTATION]: 'planted' })).status).toBe(403);
  expect((await toConfig('99-override-policy')).status).toBe(201);
  const patch = { metadata: { labels: { a: 'b' } } };
  expect((await editor.request('PATCH', `${PATHS.configs}/${config}`, patch)).status).toBe(200);
  expect((await admin.delete(`${PATHS.configs}/99-override-policy`)).status).toBe(200);
});
