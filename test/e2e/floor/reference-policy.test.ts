import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { KubeClient, statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { nodeConfigPatch, renderedName } from '../support/objects.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { OPERATOR_NAMESPACE, PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const POLICY = 'references.machineconfig-guard.io';
const COMPONENT = join(MANIFESTS, 'components', 'reference-policy');

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const { admin } = cluster;
let probe: string;

beforeAll(async () => {
  await installed.applyOverlay(COMPONENT);
  probe = `${PATHS.nodes}/${await cluster.node()}`;
  await awaitProbe(403);
});

afterAll(() => installed.deleteOverlay(COMPONENT));

function sendPatch(path: string, patch: object, client = admin, query = {}): Promise<KubeResponse> {
  return client.request('PATCH', path, patch, { query });
}

/** Waits until the API server answers a change of the name with a status. It reads its policies every second. */
async function awaitProbe(status: number, desiredConfig = 'render-probe'): Promise<void> {
  const patch = nodeConfigPatch({ desiredConfig });
  const isAnswered = async () => (await sendPatch(probe, patch, admin, { dryRun: 'All' })).status === status;
  await until(`the answer ${status}`, isAnswered, { everyMs: 50 });
}

/** A client with all rights and the name of another user. */
function impersonate(user: string, ...groups: readonly string[]): KubeClient {
  const options = { user, groups: ['system:masters', ...groups] };
  return new KubeClient({ ...cluster.admin.connection, impersonate: options });
}

function impersonateOperator(account: string): KubeClient {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${OPERATOR_NAMESPACE}`];
  return impersonate(`system:serviceaccount:${OPERATOR_NAMESPACE}:${account}`, ...groups);
}

const toPoolSpec = (name: string) => ({ spec: { configuration: { name } } });

// `render-worker-…` is the typo of a published example.
test.each([
  ['currentConfig', 'render-worker-25a1be6c1264c64551ae911d23717173'],
  ['desiredConfig', 'rendered-worker-25a1be6c1264c64551ae911d2371717'],
  ['desiredConfig', 'rendered-Worker-25a1be6c1264c64551ae911d23717173'],
  ['desiredConfig', 'rendered-25a1be6c1264c64551ae911d23717173'],
  ['desiredConfig', '99-worker-ssh'],
  ['desiredConfig', ' '],
])("denies that a person sets a node's %s to %j", async (field, typo) => {
  const config = renderedName();
  const name = await cluster.node({ currentConfig: config, desiredConfig: config });
  const path = `${PATHS.nodes}/${name}`;

  const response = await sendPatch(path, nodeConfigPatch({ [field]: typo }));

  expect(statusOf(response)).toMatchObject({ code: 403, reason: 'Forbidden' });
  expect(statusOf(response).message).toContain(
    `ValidatingAdmissionPolicy '${POLICY}' with binding '${POLICY}' denied request: ` +
      `MCG_UNKNOWN_CONFIG: node ${name} (${field}) would name "${typo}", but a rendered MachineConfig has the name ` +
      'rendered-<pool>-<32 hexadecimal digits>. Correct the name; oc get machineconfigs lists all. ' +
      'Run machineconfig-guard explain MCG_UNKNOWN_CONFIG, or see https://',
  );
  expect((await admin.find(path))?.metadata.annotations).toMatchObject({
    [`machineconfiguration.openshift.io/${field}`]: config,
  });
  const referrers = [{ kind: 'Node', name, field }];
  expect(auditedVerdicts(await cluster.auditEvent(response), POLICY)).toEqual({
    denied: { name: typo, code: 'MCG_UNKNOWN_CONFIG', referrers, more: 0 },
  });
});

test('denies a misspelled spec of a pool to a person and a GitOps controller, and allows its status', async () => {
  const config = renderedName();
  const { metadata } = await cluster.pool({ spec: config });
  const path = `${PATHS.pools}/${metadata.name}`;
  const typo = `${config}0`;
  const gitOps = impersonate('system:serviceaccount:openshift-gitops:argocd', 'system:serviceaccounts');

  for (const client of [admin, gitOps]) {
    const response = await sendPatch(path, toPoolSpec(typo), client);
    expect(response.status).toBe(403);
    expect(statusOf(response).message).toContain(
      `MCG_UNKNOWN_CONFIG: pool ${metadata.name} (spec) would name "${typo}", but`,
    );
  }

  const status = { status: { configuration: { name: typo } } };
  expect((await sendPatch(`${path}/status`, status)).status).toBe(200);
  expect((await sendPatch(path, toPoolSpec(renderedName('a.b-c.d')))).status).toBe(200);
});

test.each([
  ['a\u00a0b', '"a?b"', 'a?b'],
  ['\u200brendered', '"?rendered"', '?rendered'],
  ['line\nbreak "quoted" \\ end', '"line?break "quoted" \\ end"', 'line?break "quoted" \\ end'],
  ['x'.repeat(120_000), `"${'x'.repeat(125)}..."`, `${'x'.repeat(125)}...`],
])('the message and the audit log quote %j as one short line', async (typo, quoted, recorded) => {
  const path = `${PATHS.nodes}/${await cluster.node()}`;

  const response = await sendPatch(path, nodeConfigPatch({ currentConfig: typo, desiredConfig: typo }));

  expect(statusOf(response).message).toContain(`(currentConfig, desiredConfig) would name ${quoted}, but`);
  const { denied } = auditedVerdicts(await cluster.auditEvent(response), POLICY);
  expect(denied).toMatchObject({ name: recorded });
});

test('allows the removal of a name, and other changes of a node with a misspelled name', async () => {
  const typo = 'render-worker-25a1be6c1264c64551ae911d23717173';
  // Kubelets register nodes, and a denial would keep the machine out of the cluster.
  const name = await cluster.node({ currentConfig: typo, desiredConfig: typo });
  const path = `${PATHS.nodes}/${name}`;

  for (const patch of [
    nodeConfigPatch({ desiredConfig: typo }),
    // The guard reports a name that does not exist.
    nodeConfigPatch({ currentConfig: renderedName() }),
    nodeConfigPatch({ desiredConfig: '' }),
    { metadata: { annotations: { 'machineconfiguration.openshift.io/desiredDrain': `drain-${typo}` } } },
    { metadata: { annotations: null } },
  ]) {
    expect(await sendPatch(path, patch)).toMatchObject({ status: 200, warnings: [] });
  }
});

test('allows every write of the operator', async () => {
  const path = `${PATHS.nodes}/${await cluster.node()}`;
  const poolPath = `${PATHS.pools}/${(await cluster.pool()).metadata.name}`;
  const daemon = impersonateOperator('machine-config-daemon');
  // Its name for an empty config, and the hash of a hosted cluster (pkg/daemon/update.go, daemon.go).
  for (const name of ['mco-empty-mc', 'f1c3d2a0', '', renderedName('infra')]) {
    const patch = nodeConfigPatch({ currentConfig: name, desiredConfig: name });
    expect((await sendPatch(path, patch, daemon)).status).toBe(200);
  }
  const controller = impersonateOperator('machine-config-controller');
  for (const name of [renderedName('infra.zone-1'), 'anything', '']) {
    expect((await sendPatch(poolPath, toPoolSpec(name), controller)).status).toBe(200);
  }
});
