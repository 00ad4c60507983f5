import { afterAll, afterEach, expect, test } from 'vitest';

import { REFERENCE_WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { decisionsAbout } from '../support/guard-process.ts';
import { machineConfig, renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import {
  annotationPatch,
  awaitReferenceGuard,
  countCalls,
  impersonators,
  referenceWebhook,
  sendPatch,
} from '../support/reference-guard.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const HEARTBEATS = 1_000;
const CALL_TIMEOUT_MS = 3_000;
const guarded = await sharedGuardedCluster();
const { guard, network } = guarded;
const cluster = new Cluster(guarded.connection);
const { admin } = cluster;
const { kubelet, daemon, controller, gitOps } = impersonators(guarded.connection.admin);
await admin.create(PATHS.webhookConfigurations, await referenceWebhook(guard.url, guard.ca));
await awaitReferenceGuard(cluster);

afterEach(() => network.resume());
afterAll(() => admin.delete(PATHS.referenceWebhook));

/** Exchanges two digits of the hash. */
function mistype(config: string) {
  return config.replace(/(.)(.)$/, (_, a: string, b: string) => (a === b ? `${a}z` : `${b}${a}`));
}

const pool = (config: string) => ({ configuration: { name: config } });

test.each(['currentConfig', 'desiredConfig'])(
  "denies a person's typo in the annotation %s, and names the nearest config",
  async (field) => {
    const config = await cluster.config();
    const typo = mistype(config);
    const node = await cluster.node({ currentConfig: config, desiredConfig: config });
    const path = `${PATHS.nodes}/${node}`;
    const patch = annotationPatch({ [field]: typo });
    // The index can be some milliseconds late.
    const dryRun = async () =>
      statusOf(await sendPatch(admin, path, patch, { dryRun: 'All' })).message ?? '';
    await until('the nearest config', async () => (await dryRun()).includes('Did you mean'));

    const response = await sendPatch(admin, path, patch);

    expect(response.status).toBe(403);
    expect(statusOf(response).message).toMatch(
      new RegExp(
        `^admission webhook "${REFERENCE_WEBHOOK_NAME}" denied the request: MCG_UNKNOWN_CONFIG: no MachineConfig ` +
          `is named "${typo}", which node ${node} \\(${field}\\) would reference. Did you mean ${config}\\? Correct`,
      ),
    );
    expect((await admin.find(path))?.metadata.annotations).toMatchObject({
      [`machineconfiguration.openshift.io/${field}`]: config,
    });
    const referrers = [{ kind: 'Node', name: node, field }];
    expect(auditedVerdicts(await cluster.auditEvent(response), REFERENCE_WEBHOOK_NAME)).toEqual({
      denied: { name: typo, code: 'MCG_UNKNOWN_CONFIG', referrers, more: 0 },
    });
    expect((await decisionsAbout(guard.log, typo)).at(-1)).toMatchObject({
      verdict: 'denied',
      path: 'index',
    });
    expect(await cluster.eventsAbout(typo)).toEqual([]);
  },
);

test("denies a person's and a GitOps controller's typo in the spec and the status of a pool", async () => {
  const config = await cluster.config();
  const typo = mistype(config);
  const { metadata } = await cluster.pool({ spec: config, status: config });
  const path = `${PATHS.pools}/${metadata.name}`;

  const spec = await sendPatch(admin, path, { spec: pool(typo) });
  const byGitOps = await sendPatch(gitOps, path, { spec: pool(typo) });
  const status = await sendPatch(admin, `${path}/status`, { status: pool(typo) });

  for (const [response, field] of [
    [spec, 'spec'],
    [byGitOps, 'spec'],
    [status, 'status'],
  ] as const) {
    expect(response.status).toBe(403);
    expect(statusOf(response).message).toContain(`which pool ${metadata.name} (${field}) would reference`);
  }
  const other = await cluster.config();
  expect((await sendPatch(admin, path, { spec: pool(other) })).status).toBe(200);
  expect((await sendPatch(admin, `${path}/status`, { status: pool(other) })).status).toBe(200);
});

test('allows every existing name, and the removal of a name', async () => {
  const config = await cluster.config();
  const source = await cluster.config({ name: unique('99-worker-custom') });
  const missing = renderedName();
  const node = await cluster.node({ currentConfig: config, desiredConfig: missing });
  const path = `${PATHS.nodes}/${node}`;
  const before = await countCalls(admin);

  for (const patch of [
    annotationPatch({ currentConfig: source }),
    annotationPatch({ currentConfig: config, state: 'Working' }),
  ]) {
    expect(await sendPatch(admin, path, patch)).toMatchObject({ status: 200, warnings: [] });
  }
  const called = await countCalls(admin);
  expect(called.calls - before.calls).toBe(2);
  for (const patch of [
    // The node keeps a name that no config has.
    annotationPatch({ desiredConfig: missing, state: 'Done' }),
    annotationPatch({ desiredConfig: '' }),
    annotationPatch({ desiredConfig: null }),
    annotationPatch({ desiredDrain: `drain-${missing}` }),
    { metadata: { annotations: null } },
  ]) {
    expect(await sendPatch(admin, path, patch)).toMatchObject({ status: 200, warnings: [] });
  }
  expect((await countCalls(admin)).calls).toBe(called.calls);
});

test('allows a config that was created just before', async () => {
  const path = `${PATHS.nodes}/${await cluster.node()}`;
  for (let round = 0; round < 20; round += 1) {
    const name = renderedName();
    await admin.create(PATHS.configs, machineConfig({ name }));
    const response = await sendPatch(admin, path, annotationPatch({ desiredConfig: name }));
    expect(response).toMatchObject({ status: 200, warnings: [] });
  }
});

test('is not called for the accounts of the operator and for kubelets, whatever they write', async () => {
  const node = await cluster.node();
  const path = `${PATHS.nodes}/${node}`;
  const { metadata } = await cluster.pool();
  const poolPath = `${PATHS.pools}/${metadata.name}`;
  const before = await countCalls(admin);

  for (const client of [daemon, controller, kubelet(node)]) {
    const patch = annotationPatch({ currentConfig: renderedName(), desiredConfig: renderedName() });
    expect((await sendPatch(client, path, patch)).status).toBe(200);
  }
  expect((await sendPatch(controller, poolPath, { spec: pool(renderedName()) })).status).toBe(200);
  const status = { status: pool(renderedName()) };
  expect((await sendPatch(controller, `${poolPath}/status`, status)).status).toBe(200);

  const { calls, excluded } = await countCalls(admin);
  expect({ calls: calls - before.calls, excluded: excluded - before.excluded }).toEqual({
    calls: 0,
    excluded: 5,
  });
});

test(`${HEARTBEATS} heartbeats of kubelets cause no call`, async () => {
  const config = await cluster.config();
  const nodes: string[] = [];
  for (let index = 0; index < 10; index += 1) nodes.push(await cluster.node({ currentConfig: config }));
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const before = await countCalls(admin);
  const decisions = async () =>
    await guarded.readMetric('mcguard_decision_duration_seconds_count{path="index"}');
  const decisionsBefore = await decisions();
  const answers: number[] = [];

  await Promise.all(
    nodes.map(async (name) => {
      const client = kubelet(name);
      const path = `${PATHS.nodes}/${name}`;
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } };
      await client.request('POST', leases, lease);
      for (let beat = 0; beat < HEARTBEATS / nodes.length; beat += 1) {
        const now = new Date().toISOString();
        const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: now };
        const renewal = { spec: { holderIdentity: name, renewTime: now.replace('Z', '000Z') } };
        const responses = [
          await sendPatch(client, `${leases}/${name}`, renewal),
          await sendPatch(client, `${path}/status`, { status: { conditions: [condition] } }),
          await sendPatch(client, path, {
            metadata: { labels: { 'feature.node.kubernetes.io/beat': `${beat}` } },
          }),
          // A controller that changes other annotations, such as the network plugin.
          await sendPatch(admin, path, { metadata: { annotations: { 'k8s.ovn.org/beat': now } } }),
        ];
        answers.push(...responses.map((response) => response.status));
      }
    }),
  );

  const after = await countCalls(admin);
  const calls = after.calls - before.calls;
  const excluded = after.excluded - before.excluded;
  console.log(
    `${answers.length} writes of ${HEARTBEATS} heartbeats: ${calls} calls, ${excluded} excluded`,
  );
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(answers).toHaveLength(4 * HEARTBEATS);
  expect(calls).toBe(0);
  // The API server evaluates the conditions again if it repeats a patch after a conflict.
  expect(excluded).toBeGreaterThanOrEqual(2 * HEARTBEATS);
  expect(await decisions()).toBe(decisionsBefore);
}, 120_000);

test.for(['refuse', 'silence'] as const)(
  'allows with a warning while the guard can reach no API server (%s)',
  async (outage) => {
    const path = `${PATHS.nodes}/${await cluster.node()}`;
    await network[outage]();

    const typo = renderedName();
    const response = await sendPatch(admin, path, annotationPatch({ desiredConfig: typo }));

    expect(response.status).toBe(200);
    expect(response.warnings).toEqual([
      `MCG_UNCHECKED: could not check whether MachineConfig "${typo}" exists`,
    ]);
    expect(response.ms).toBeLessThan(CALL_TIMEOUT_MS);
    await network.resume();
    await awaitReferenceGuard(cluster);
  },
);

test('allows while the guard is down', async () => {
  const path = `${PATHS.nodes}/${await cluster.node()}`;
  await guard.stop();
  try {
    const response = await sendPatch(admin, path, annotationPatch({ desiredConfig: renderedName() }));
    expect(response.status).toBe(200);
  } finally {
    await guard.restart();
  }
  await awaitReferenceGuard(cluster);
});
