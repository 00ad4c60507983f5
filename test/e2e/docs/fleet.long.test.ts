import { afterAll, beforeAll, expect, test } from 'vitest';

import type { KubeObject } from '../control-plane/kube-client.ts';
import { BINDINGS } from '../support/floor.ts';
import { readInstallManifests, startFleetHub } from '../support/fleet-hub.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk, parseObjects } from '../support/kubectl.ts';
import { renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { findPolicyController, PolicyController, type Policy } from '../support/policy-controller.ts';
import { log } from '../support/runner.ts';

const MANAGED = ['open-cluster-management-claims', 'open-cluster-management-configuration'] as const;
const INSTALL = 'machineconfig-guard';
const PROTECTION = 'mcguard-protection';
const REFERENCES = 'mcguard-references';
const FLOOR = 'machineconfig-guard-policy-floor';
const OTHER_IMAGE = `mirror.lab.local:5000/ops/machineconfig-guard@sha256:${'a'.repeat(64)}`;
/** Kubernetes versions of OpenShift 4.16 and 4.18. */
const [OLDER, NEWER] = ['v1.29.14+7cf4c05', 'v1.31.7'];
const TOPOLOGY = 'controlplanetopology.openshift.io';
const VERSION = 'kubeversion.open-cluster-management.io';
/** All kinds of the manifests. */
const KINDS =
  'namespaces,crds,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,services,deployments,' +
  'poddisruptionbudgets,networkpolicies,flowschemas,validatingwebhookconfigurations,validatingadmissionpolicies,' +
  'validatingadmissionpolicybindings';

const program = await findPolicyController(log);
/** The hub, which manages itself as a cluster with several nodes. */
const { hub: core, shell, page } = await startFleetHub(MANAGED);
const edge = await InstalledCluster.start(MANAGED);
const coreController = await PolicyController.start(core.controlPlane, program);
const edgeController = await PolicyController.start(edge.controlPlane, program);
/** Of `render --policy`, as the page says. */
let install: Policy;

beforeAll(async () => {
  await coreController.setClaims({ [TOPOLOGY]: 'HighlyAvailable', [VERSION]: OLDER });
  await edgeController.setClaims({ [TOPOLOGY]: 'SingleReplica', [VERSION]: NEWER });
  await kubectlOk(edge.controlPlane, ['apply', '--filename=-'], await readInstallManifests(core));
  install = await readPolicy(INSTALL);
  await edgeController.evaluate(await readPolicy('mcguard-enforce'));
});

afterAll(() => Promise.all([core.stop(), edge.stop()]));

async function readPolicy(name: string): Promise<Policy> {
  const path = `/apis/policy.open-cluster-management.io/v1/namespaces/fleet-policies/policies/${name}`;
  return (await core.cluster.admin.find(path)) as Policy;
}

/** The objects that the guard's manifests created, as `kind/namespace/name`. */
async function listObjects(): Promise<readonly string[]> {
  const selector = '--selector=app.kubernetes.io/managed-by=machineconfig-guard';
  const json = await kubectlOk(core.controlPlane, ['get', KINDS, '--all-namespaces', selector, '--output=json']);
  const { items } = JSON.parse(json) as { readonly items: readonly KubeObject[] };
  return items.map(identify).toSorted();
}

function identify({ kind, metadata: { name, namespace } }: KubeObject): string {
  return [kind, namespace, name].join('/');
}

async function renderSet(flags: string): Promise<readonly KubeObject[]> {
  const image = `--image ${OTHER_IMAGE}`;
  const { stdout } = await shell.run(`machineconfig-guard render --tls service-ca ${image} --out - ${flags}`);
  return parseObjects(stdout);
}

async function readWebhooks() {
  return (await core.cluster.admin.find(PATHS.guardWebhook))?.webhooks;
}

async function readImages(): Promise<readonly string[]> {
  const deployment = await core.cluster.admin.find(PATHS.deployment);
  return [...JSON.stringify(deployment?.spec).matchAll(/"image":"([^"]*)"/g)].map(([, image = '']) => image);
}

/** Reads the compliance of a ConfigurationPolicy until it is the expected one. */
function expectCompliance(controller: PolicyController, name: string) {
  return expect.poll(async () => (await controller.read(name))?.compliant);
}

test.each([OLDER, NEWER])('a single node that ZTP has installed complies with the Policy on %s', async (version) => {
  await edgeController.setClaims({ [VERSION]: version });
  await edgeController.evaluate(install);
  await expectCompliance(edgeController, INSTALL).toBe('Compliant');
});

test('the Policy keeps an additional right, and creates a deleted role without it', async () => {
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/machineconfig-guard-view';
  const readRules = async () => JSON.stringify(await edge.cluster.admin.find(role));
  const rule = { apiGroups: ['machineconfig-guard.io'], resources: ['machineconfigguards'], verbs: ['delete'] };
  await edge.cluster.admin.patch(role, [{ op: 'add', path: '/rules/-', value: rule }]);

  await edgeController.evaluate(install, 'enforce');
  await expectCompliance(edgeController, INSTALL).toBe('Compliant');
  expect(await readRules()).toContain('"delete"');

  await edge.cluster.admin.delete(role);
  await expect.poll(async () => (await edge.cluster.admin.find(role)) !== undefined).toBe(true);
  expect(await readRules()).not.toContain('"delete"');
  await edgeController.evaluate(install);
});

test('the Policy installs on several nodes, follows an update of OpenShift, and updates the guard', async () => {
  await coreController.evaluate(install);
  await expectCompliance(coreController, INSTALL).toBe('NonCompliant');
  expect(await listObjects()).toEqual([]);

  await coreController.evaluate(install, 'enforce');
  await expectCompliance(coreController, INSTALL).toBe('Compliant');
  const older = await renderSet('--openshift-version 4.16');
  expect(await listObjects()).toEqual(older.map(identify).toSorted());

  await coreController.setClaims({ [VERSION]: NEWER });
  const newer = await renderSet('--openshift-version 4.18');
  expect(newer.length).toBeGreaterThan(older.length);
  await expect.poll(listObjects).toEqual(newer.map(identify).toSorted());

  await core.awaitGuard();
  await core.cluster.node({ currentConfig: await core.cluster.config({ name: renderedName() }) });
  expect((await shell.run('machineconfig-guard verify')).stdout).toMatch(/^PROTECTED: /m);
  const status = { replicas: 2, readyReplicas: 2, updatedReplicas: 2, availableReplicas: 2 };
  await core.cluster.admin.patch(`${PATHS.deployment}/status`, { status });
  await coreController.evaluate(await readPolicy(PROTECTION));
  await expectCompliance(coreController, PROTECTION).toBe('Compliant');

  await coreController.evaluate(install);
  const before = await readWebhooks();
  expect(before?.[0]?.clientConfig.caBundle).toMatch(/^LS0t/);
  const render = 'machineconfig-guard render --policy --tls service-ca';
  await shell.run(`${render} --image ${OTHER_IMAGE} --out - | oc apply -n fleet-policies -f -`);
  const update = await readPolicy(INSTALL);
  await coreController.evaluate(update);
  await expectCompliance(coreController, INSTALL).toBe('NonCompliant');
  const { messages = [] } = (await coreController.read(INSTALL)) ?? {};
  expect(messages.filter((message) => !message.includes('found as specified'))).toEqual([
    expect.stringContaining('deployments [machineconfig-guard] found but not as specified'),
    // It records the image.
    expect.stringContaining('validatingwebhookconfigurations [machineconfig-guard] found but not as specified'),
  ]);
  expect(await readImages()).not.toContain(OTHER_IMAGE);
  await coreController.evaluate(update, 'enforce');
  await expect.poll(readImages).toEqual([OTHER_IMAGE]);
  expect(await readWebhooks()).toEqual(before);

  await page.run(shell, { heading: 'Seed images' });
  expect(page.remaining).toEqual([]);
});

test('the Policy of the floor creates its policies, from OpenShift 4.17 on', async () => {
  const listPolicies = async () => (await core.cluster.admin.list(BINDINGS)).map(({ metadata }) => metadata.name);
  const floor = await readPolicy(FLOOR);
  await coreController.setClaims({ [VERSION]: OLDER });
  await coreController.evaluate(floor, 'enforce');
  await expectCompliance(coreController, FLOOR).toBe('Compliant');
  expect(await listPolicies()).not.toContain('nodes.machineconfig-guard.io');

  await coreController.setClaims({ [VERSION]: NEWER });
  const names = ['nodes.machineconfig-guard.io', 'pools.machineconfig-guard.io'];
  await expect.poll(listPolicies).toEqual(expect.arrayContaining(names));
  await expectCompliance(coreController, FLOOR).toBe('Compliant');
});

const STATUS = `${PATHS.deployment}/status`;
const replace = (path: string, value: unknown) => [{ op: 'replace', path, value }];
const GUARD_STATUS = `${PATHS.guard}/status`;
const toCondition = (status: string) => {
  const times = { lastTransitionTime: '2026-11-26T12:00:00Z', observedGeneration: 1 };
  return { status: { conditions: [{ type: 'ReferencesConsistent', status, reason: 'Test', message: '', ...times }] } };
};
const STATUS_OF_ONE = { replicas: 1, readyReplicas: 1, updatedReplicas: 1, availableReplicas: 1 };

test.each<[string, string, broken: object, repaired: object, policy?: string]>([
  [
    'failurePolicy Ignore',
    PATHS.guardWebhook,
    replace('/webhooks/0/failurePolicy', 'Ignore'),
    replace('/webhooks/0/failurePolicy', 'Fail'),
  ],
  [
    'a rule for another operation',
    PATHS.guardWebhook,
    replace('/webhooks/0/rules/0/operations', ['CREATE']),
    replace('/webhooks/0/rules/0/operations', ['DELETE']),
  ],
  ['a replica that is not available', STATUS, { status: { availableReplicas: 0 } }, { status: STATUS_OF_ONE }],
  ['a replica of the old image', STATUS, { status: { replicas: 2 } }, { status: STATUS_OF_ONE }],
  ['mode Audit', PATHS.guard, { spec: { mode: 'Audit' } }, { spec: { mode: 'Enforce' } }],
  ['a missing config', GUARD_STATUS, toCondition('False'), toCondition('True'), REFERENCES],
])('the Policies report %s', async (_name, path, broken, repaired, policy = PROTECTION) => {
  const { admin } = edge.cluster;
  // No other Policy may repair the change.
  for (const name of [INSTALL, 'mcguard-enforce']) await edgeController.remove(name);
  // No controller of this cluster counts replicas.
  await admin.patch(STATUS, { status: STATUS_OF_ONE });
  await admin.patch(path, repaired);
  await edgeController.evaluate(await readPolicy(policy));
  await expectCompliance(edgeController, policy).toBe('Compliant');

  await admin.patch(path, broken);
  await expectCompliance(edgeController, policy).toBe('NonCompliant');

  await admin.patch(path, repaired);
  await expectCompliance(edgeController, policy).toBe('Compliant');
});

test('the Policies of the modes set the mode and the hold', async () => {
  const readMode = async () => (await edge.cluster.admin.find(PATHS.guard))?.spec;
  for (const [name, mode] of [
    ['mcguard-audit', 'Audit'],
    ['mcguard-enforce', 'Enforce'],
  ] as const) {
    await edgeController.evaluate(await readPolicy(name));
    await expect.poll(readMode).toEqual({ mode, holdSuperseded: '24h' });
    await edgeController.remove(name);
  }
});
