import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubeClient, statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { kubectl, kubectlOk } from '../support/kubectl.ts';
import { nodePatch, PATHS, renderedName } from '../support/objects.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const POLICIES = ['override-policy', 'pool-deletion-warning', 'reference-policy', 'webhook-deletion-reason'];
const COMPONENTS = POLICIES.map((name) => join(MANIFESTS, 'components', name));
const CONFIGURATION = ['validatingwebhookconfiguration', 'machineconfig-guard'];
const SUCCESS = { exitCode: 0, stderr: '' };
const ANNOTATION = 'machineconfig-guard.io/allow-deletion';
const REFERENCES = 'references.machineconfig-guard.io';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const [config, deletable] = [await cluster.config(), await cluster.config()];
const rule = { apiGroups: ['machineconfiguration.openshift.io'], resources: ['machineconfigs'] };
const token = await createServiceAccount(admin, 'override-editor', [
  { ...rule, verbs: ['get', 'patch'] },
  { ...rule, verbs: ['delete'], resourceNames: [deletable] },
]);
/** May patch every MachineConfig, but may delete only the config `deletable`. */
const editor = new KubeClient({ ...admin.connection, token });

async function deleteWith(...args: readonly string[]) {
  const { exitCode, stderr } = await kubectl(controlPlane, ['delete', ...args]);
  return { exitCode, stderr: stderr.trimEnd() };
}

/** The pool has machines only if its status says so. */
async function createPool(machineCount: number): Promise<string> {
  const { name } = (await cluster.pool({ name: unique('infra') })).metadata;
  await admin.patch(`${PATHS.pools}/${name}/status`, { status: { machineCount } });
  return name;
}

function annotate(client: KubeClient, name: string, value: string | null, query = {}) {
  const patch = { metadata: { annotations: { [ANNOTATION]: value } } };
  return client.request('PATCH', `${PATHS.configs}/${name}`, patch, { query });
}

function sendPatch(path: string, patch: object): Promise<KubeResponse> {
  return admin.request('PATCH', path, patch);
}

beforeAll(async () => {
  for (const component of COMPONENTS) await installed.applyOverlay(component);
  const [pool, node] = [await createPool(1), `${PATHS.nodes}/${await cluster.node()}`];
  // The API server reads its policies every second.
  await until('the policies', async () => {
    await installed.applyOverlay('monitoring');
    const answers = [
      (await deleteWith(...CONFIGURATION)).stderr !== '',
      (await deleteWith('machineconfigpool', pool, '--dry-run=server')).stderr !== '',
      (await annotate(editor, config, 'probe', { dryRun: 'All' })).status === 403,
      (await sendPatch(node, nodePatch({ desiredConfig: 'render-probe' }))).status === 403,
    ];
    return answers.every(Boolean);
  });
});

afterAll(async () => {
  for (const component of COMPONENTS) await installed.deleteOverlay(component);
});

test('a deletion of a pool with machines succeeds with a warning, and that of an empty pool without', async () => {
  const [used, empty] = [await createPool(3), await createPool(0)];
  const answer = await deleteWith('machineconfigpool', used);
  expect(answer.exitCode).toBe(0);
  expect(answer.stderr).toMatch(
    /^Warning: Validation failed for .*'pool-deletion\.machineconfig-guard\.io'.*: pool \S+ still has 3 machines\./,
  );
  expect(answer.stderr).toContain(`such as node-role.kubernetes.io/${used}`);
  expect(await deleteWith('machineconfigpool', empty)).toEqual(SUCCESS);
});

test('the webhook configuration needs a reason, except for an installer, and others need none', async () => {
  const denied = await deleteWith(...CONFIGURATION);
  expect(denied).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^Error from server \(Forbidden\): /) });
  const [, annotate = '', command = ''] = /give a reason: oc (.+) && oc (.+)$/.exec(denied.stderr) ?? [];
  expect(await deleteWith(...CONFIGURATION, '--dry-run=server')).toEqual(SUCCESS);
  const account = 'system:serviceaccount:openshift-gitops:argocd';
  expect(await deleteWith(...CONFIGURATION, '--as', account, '--as-group', 'system:masters')).toEqual(SUCCESS);
  await installed.applyOverlay('monitoring');
  const other = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
  const name = unique('other');
  await admin.create(dirname(PATHS.guardWebhook), { ...other, metadata: { name } });
  expect(await deleteWith('validatingwebhookconfiguration', name)).toEqual(SUCCESS);

  // The denial prints the way out.
  await kubectlOk(controlPlane, annotate.replaceAll("'", '').split(' '));
  expect(command).toBe(`delete ${CONFIGURATION.join(' ')}`);
  const { annotations } = await cluster.auditEvent(await admin.request('DELETE', PATHS.guardWebhook));
  expect(annotations).toMatchObject({ 'webhook-deletion.machineconfig-guard.io/reason': 'why' });
  await installed.applyOverlay('monitoring');
});

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

/** The typo of a published example. */
const TYPO = 'render-worker-25a1be6c1264c64551ae911d23717173';

test.each([
  ['currentConfig', TYPO],
  ['desiredConfig', ' '],
])("denies that a person sets a node's %s to %j", async (field, typo) => {
  const own = renderedName();
  const name = await cluster.node({ currentConfig: own, desiredConfig: own });
  const path = `${PATHS.nodes}/${name}`;

  const response = await sendPatch(path, nodePatch({ [field]: typo }));

  expect(statusOf(response)).toMatchObject({ code: 403, reason: 'Forbidden' });
  expect(statusOf(response).message).toContain(
    `ValidatingAdmissionPolicy '${REFERENCES}' with binding '${REFERENCES}' denied request: ` +
      `MCG_UNKNOWN_CONFIG: node ${name} (${field}) would name "${typo}", but a rendered MachineConfig has the name ` +
      'rendered-<pool>-<32 hexadecimal digits>. Correct the name; oc get machineconfigs lists all. ' +
      'Run machineconfig-guard explain MCG_UNKNOWN_CONFIG, or see https://',
  );
  expect((await admin.find(path))?.metadata.annotations).toMatchObject({
    [`machineconfiguration.openshift.io/${field}`]: own,
  });
  const referrers = [{ kind: 'Node', name, field }];
  expect(auditedVerdicts(await cluster.auditEvent(response), REFERENCES)).toEqual({
    denied: { name: typo, code: 'MCG_UNKNOWN_CONFIG', referrers, more: 0 },
  });
});

test.each([
  ['a\u00a0b', '"a?b"', 'a?b'],
  ['\u200brendered', '"?rendered"', '?rendered'],
  ['line\nbreak "quoted" \\ end', '"line?break "quoted" \\ end"', 'line?break "quoted" \\ end'],
  ['x'.repeat(120_000), `"${'x'.repeat(125)}..."`, `${'x'.repeat(125)}...`],
])('the message and the audit log quote %j as one short line', async (typo, quoted, recorded) => {
  const path = `${PATHS.nodes}/${await cluster.node()}`;

  const response = await sendPatch(path, nodePatch({ currentConfig: typo, desiredConfig: typo }));

  expect(statusOf(response).message).toContain(`(currentConfig, desiredConfig) would name ${quoted}, but`);
  const { denied } = auditedVerdicts(await cluster.auditEvent(response), REFERENCES);
  expect(denied).toMatchObject({ name: recorded });
});
