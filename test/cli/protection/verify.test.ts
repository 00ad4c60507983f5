import { beforeEach, expect, test, vi } from 'vitest';
import { verifyProtection, type VerifyReport } from '../../../src/cli/protection/verify.ts';
import { FLAG_LABEL_PREFIX } from '../../../src/install/profiles.ts';
import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import type { Fault } from '../../support/faults.ts';
import { register, stubWebhook } from '../../support/stub-webhook.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import {
  annotate,
  createConfig,
  createNode,
  createPool,
  GONE,
  NEW,
  OLD,
  startHealthyCluster,
} from '../inspected-cluster.ts';
import { useTerminal } from '../terminal.ts';
import { INSTALLED_NAME } from '../../../src/api/paths.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../../src/api/annotations.ts';
import { NEVER_ABORTED } from '../../../src/common/wait.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/mco/api-paths.ts';

const ADDRESS = /127\.0\.0\.1:\d+/g;
const OVERRIDDEN = { annotations: { [ALLOW_DELETION_ANNOTATION]: '' } };
const TERMINATING = { deletionTimestamp: '2026-11-23T12:00:00Z' };
const IN_USE = `MCG_IN_USE: ${NEW} is in use by node worker-0\n(currentConfig).`;

/** Starts a webhook that decides as the guard does. */
const startGuard = () =>
  stubWebhook(({ request }) =>
    request.name === NEW
      ? { allowed: false, status: { code: 403, reason: 'Forbidden', message: IN_USE } }
      : { allowed: true },
  );

test('if the guard denies, prints each step and exits with 0', async () => {
  const { cluster, run } = await startHealthyCluster();
  register(cluster, await startGuard());
  const expiry = { type: 'CertificatesValid', status: 'True', reason: 'ExpiresSoon', message: 'authority until 2026' };
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, status: { conditions: [expiry] } });

  const { exitCode, stdout, stderr } = await run('verify');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  // The cluster in memory has no managedFields.
  await expect(stdout.replaceAll(ADDRESS, 'ADDRESS')).toMatchFileSnapshot('verify-protected.txt');
});

test('shows each webhook and policy, and <unknown> if the user may not read them', async () => {
  const { cluster, run, kubeconfig } = await startHealthyCluster();
  const service = { namespace: 'a', name: 'b' };
  const [clientConfig, failurePolicy] = [{ service }, 'Ignore'];
  const webhooks = [
    { name: 'other.example.com', failurePolicy, clientConfig },
    { name: WEBHOOK_NAME, failurePolicy, clientConfig },
    { name: WEBHOOK_NAME, failurePolicy, clientConfig: { service: { ...service, port: 8443 } } },
  ];
  const flags = { profile: 'fail-closed', 'single-node': 'true', hold: '24h' };
  const labels = Object.fromEntries(Object.entries(flags).map(([flag, value]) => [FLAG_LABEL_PREFIX + flag, value]));
  const items = [{ metadata: { name: 'c', labels }, webhooks }, { metadata: { name: 'without webhooks' } }];
  const binding = { spec: { validationActions: ['Deny', 'Audit'] } };
  const removeAnswers = cluster.faults.intercept(({ path }) => {
    if (path.endsWith('/validatingwebhookconfigurations')) return { status: 200, body: { items } };
    return path.endsWith('bindings/nodes.machineconfig-guard.io') ? { status: 200, body: binding } : 'pass';
  });
  cluster.faults.intercept(({ method, path }) =>
    method === 'DELETE' && path.endsWith(OLD) ? fail(403, DENIAL) : 'pass',
  );
  const { stdout } = await run('verify');
  const text = stdout.replaceAll(kubeconfig, 'kubeconfig').replaceAll(ADDRESS, 'ADDRESS');
  await expect(text).toMatchFileSnapshot('verify-exposed.txt');
  removeAnswers();
  cluster.faults.intercept(({ path }) => (path.includes('admissionregistration') ? { status: 403 } : 'pass'));
  expect((await run('verify')).stdout).toMatch(/^webhook {3}<unknown>\npolicies {2}<unknown>\n/m);
});

test('without a guard, names no mode, and --timeout waits for one', async () => {
  const { run } = await startHealthyCluster();
  const { exitCode, stderr } = await run('verify', '--timeout', '1s');
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/^ +\d+s {2}EXPOSED: .* the guard is not installed\n$/),
  ]);
  expect((await run('verify')).stdout).toMatch(/^webhook {3}none\npolicies {2}none\nmode {6}none\n/m);
});

const RULE = {
  apiGroups: ['machineconfiguration.openshift.io'],
  operations: ['DELETE'],
  resources: ['machineconfigs'],
};

test.each([
  [{ objectSelector: { matchLabels: { a: 'b' } } }, 'an objectSelector'],
  [{ objectSelector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } }, 'an objectSelector'],
  [{ matchConditions: [{ name: 'mine', expression: 'false' }] }, 'the match condition "mine"'],
  [{ rules: [{ ...RULE, operations: ['CREATE'] }] }, 'no rule for the deletion of MachineConfigs'],
  [{ rules: [{ ...RULE, apiGroups: ['*'], resources: ['*'], operations: ['*'] }], objectSelector: {} }, undefined],
])('says EXPOSED although the guard answers, if somebody has changed the webhook to %j', async (change, part) => {
  const { cluster, run } = await startHealthyCluster();
  register(cluster, await startGuard());
  const { webhooks } = cluster.get('validatingwebhookconfigurations', INSTALLED_NAME) as unknown as {
    readonly webhooks: readonly object[];
  };
  const changed = webhooks.map((webhook) => ({ ...webhook, ...change }));
  cluster.faults.intercept(({ path }) => {
    const items = [{ metadata: { name: INSTALLED_NAME }, webhooks: changed }];
    return path.endsWith('/validatingwebhookconfigurations') ? { status: 200, body: { items } } : 'pass';
  });
  const { stdout } = await run('verify');
  const text = stdout.replaceAll(/\s+/g, ' ');
  if (part === undefined) expect(text).toContain('PROTECTED: ');
  else
    expect(text).toContain(
      `EXPOSED: a config in use can be deleted: the webhook configuration was changed: it has ${part}`,
    );
});

test('with --wait, retries through outages, prints each change, and ends when the guard protects', async () => {
  const { cluster, run } = await startHealthyCluster();
  const webhook = await startGuard();
  let reads = 0;
  cluster.faults.intercept(({ path }) => {
    if (!path.endsWith('/validatingwebhookconfigurations')) return 'pass';
    reads += 1;
    if (reads === 1) return { status: 503 };
    if (reads === 3) register(cluster, webhook);
    return 'pass';
  });
  const { exitCode, stdout, stderr } = await run('verify', '--wait', '--timeout', '100s');
  expect(exitCode).toBe(0);
  expect(stderr.replaceAll(/^ +\d+s {2}/gm, '').split('\n')).toEqual([
    expect.stringMatching(/answered 503 to list .*; retrying$/),
    expect.stringMatching(/^EXPOSED: .*is not installed$/),
    expect.stringMatching(/^PROTECTED: the guard denies/),
    '',
  ]);
  expect(stdout).toMatch(/^webhook .*\n[^]*\nPROTECTED: the guard denies/m);
});

test('with --wait, waits for the guard although the policy floor denies', async () => {
  const { cluster, run } = await startHealthyCluster();
  const clientConfig = { service: { namespace: 'machineconfig-guard', name: 'machineconfig-guard' }, caBundle: 'x' };
  const webhooks = [{ name: WEBHOOK_NAME, failurePolicy: 'Ignore', clientConfig }];
  const message = "ValidatingAdmissionPolicy 'nodes.machineconfig-guard.io' denied request: MCG_IN_USE: x";
  let reads = 0;
  cluster.faults.intercept(({ method, path }) => {
    if (method === 'DELETE' && path.endsWith(NEW)) return fail(403, message);
    if (!path.endsWith('/validatingwebhookconfigurations')) return 'pass';
    reads += 1;
    // The floor alone is complete without a webhook, which ends the wait.
    return { status: 200, body: { items: reads > 2 ? [] : [{ webhooks }] } };
  });
  const { stdout, stderr } = await run('verify', '--wait', '--timeout', '100s');
  expect({ reads, stderr }).toEqual({
    reads: 3,
    stderr: expect.stringMatching(/PROTECTED: only the policy .* is Ignore/),
  });
  expect(stdout).toMatch(/PROTECTED: only the policy/);
});

test('with --wait, ends at once with 1 if a policy answers first and no config is unused', async () => {
  const { cluster, run } = await startHealthyCluster();
  await cluster.delete('machineconfigs', OLD);
  register(cluster, await startGuard());
  cluster.create('deployments', {
    metadata: { name: INSTALLED_NAME, namespace: INSTALLED_NAME },
    spec: { replicas: 2 },
    status: { readyReplicas: 2 },
  });
  const message = "ValidatingAdmissionPolicy 'nodes.machineconfig-guard.io' denied request: MCG_IN_USE: x";
  cluster.faults.intercept(({ method, path }) =>
    method === 'DELETE' && path.endsWith(NEW) ? fail(403, message) : 'pass',
  );
  const { exitCode, stdout } = await run('verify', '--wait', '--timeout', '1000h');
  expect({ exitCode, stdout }).toEqual({
    exitCode: 1,
    stdout: expect.stringContaining('But the guard was not tested, because a policy'),
  });
});

test('with --wait, does not wait if the mode does not deny, and keeps the command for its cluster whole', async () => {
  useTerminal(80);
  const { cluster, run } = await startHealthyCluster();
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Audit' } });
  register(cluster, await stubWebhook(() => ({ allowed: true })));
  const { exitCode, stdout, stderr } = await run('verify', '--wait', '--context', 'in-memory');
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(/^ +\d+s {2}EXPOSED: [^\n]*\n$/) });
  expect(stdout).toContain(`dry run   deletion of ${NEW}, in use\n          by Node worker-0 (currentConfig)\n`);
  expect(stdout).toMatch(
    /\nNext: set the mode Enforce:\n {2}oc --kubeconfig \S+ --context in-memory patch mcguard cluster [^]*\n$/,
  );
});

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startTestCluster();
  for (const name of [OLD, NEW]) createConfig(cluster, name);
});

async function verify(): Promise<VerifyReport> {
  return await verifyProtection(cluster.connect(), NEVER_ABORTED);
}

/** Answers each deletion of a config in the place of the API server. */
function answerDeletion(name: string, fault: Fault): void {
  cluster.faults.intercept(({ method, path }) => (method === 'DELETE' && path.endsWith(name) ? fault : 'pass'));
}

function fail(status: number, message = 'the reason'): Fault {
  return { status, body: { kind: 'Status', message } };
}

test('sends only dry runs, and tests first with a missing and an unused config', async () => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const { resourceVersion } = cluster;
  const api = cluster.connect();
  const send = vi.spyOn(api, 'json');
  await verifyProtection(api, NEVER_ABORTED);
  const writes = send.mock.calls.map(([request]) => request).filter(({ method = 'GET' }) => method !== 'GET');
  const toDryRun = (name: string) => {
    const preconditions = { uid: cluster.get('machineconfigs', name)?.metadata.uid };
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      dryRun: ['All'],
      propagationPolicy: 'Background',
      preconditions,
    };
    return { method: 'DELETE', path: `${MACHINE_CONFIGS_PATH}/${name}?dryRun=All`, body };
  };
  const proof = { method: 'DELETE', path: `${MACHINE_CONFIGS_PATH}/machineconfig-guard-dry-run?dryRun=Invalid` };
  expect(writes).toMatchObject([proof, toDryRun(OLD), proof, toDryRun(NEW)]);
  expect(cluster.resourceVersion).toBe(resourceVersion);
});

test('exits with 3 if the API server answers 422 for another reason than the dry run', async () => {
  answerDeletion('machineconfig-guard-dry-run', fail(422));
  const message = expect.stringContaining('answered 422 the reason instead') as string;
  await expect(verify()).rejects.toMatchObject({ name: 'CliError', exitCode: 3, message });
});

const DENIAL = 'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE';

test.each<[number | 'reset', string, boolean?]>([
  [403, DENIAL, true],
  [404, DENIAL, true],
  [500, 'failed calling webhook "guard.machineconfig-guard.io": EOF', true],
  [422, "ValidatingAdmissionPolicy 'x' denied request: failed to configure policy", true],
  [401, ''],
  [403, 'User "x" cannot delete resource "machineconfigs"'],
  [429, ''],
  [500, 'etcdserver: request timed out'],
  ['reset', ''],
])(
  'reports the answer %s "%s" if a webhook or a policy gave it (%s), or else throws',
  async (status, message, isOwn) => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    answerDeletion(NEW, status === 'reset' ? status : fail(status, message));
    if (isOwn === true) expect(await verify()).toMatchObject({ answer: { status, message } });
    else await expect(verify()).rejects.toMatchObject({ name: 'ClusterAccessError', access: { verb: 'delete' } });
  },
);

test('if the node moves to another config meanwhile, looks again before it says EXPOSED', async () => {
  createNode(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: OLD });
  cluster.faults.intercept(({ method, path }) => {
    if (method === 'DELETE' && path.endsWith(OLD))
      annotate(cluster, 'worker-0', { currentConfig: NEW, desiredConfig: NEW });
    return 'pass';
  });
  const explanation = `${OLD} was released or deleted during the dry run`;
  expect(await verify()).toMatchObject({ state: 'UNKNOWN', explanation, dryRun: null });
});

test('says BLOCKED also if no config is in use', async () => {
  for (const name of [OLD, NEW]) answerDeletion(name, fail(403, DENIAL.replace('IN_USE', 'UNVERIFIED')));
  expect(await verify()).toMatchObject({ state: 'BLOCKED', dryRun: null });
});

test('prefers the config of a node, then of a pool, then of a build, not one that only a reason names', async () => {
  createNode(cluster, 'a', { currentConfig: GONE, state: 'Degraded', reason: `config "${NEW}" not found` });
  cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec: { machineConfig: { name: OLD } } });
  const binding = { spec: { validationActions: ['Deny'] } };
  const removeFloor = cluster.faults.intercept(({ path }) =>
    path.includes('/validatingadmissionpolicybindings/') ? { status: 200, body: binding } : 'pass',
  );
  const ofBuild = await verify();
  expect(ofBuild.dryRun).toMatchObject({ config: OLD, kind: 'MachineOSBuild' });
  expect(ofBuild.explanation).toContain('no policy with the action Deny checks MachineOSBuilds');
  removeFloor();
  createPool(cluster, 'worker', { status: NEW });
  expect((await verify()).dryRun).toMatchObject({ config: NEW, kind: 'MachineConfigPool' });
  createNode(cluster, 'worker-0', { desiredConfig: OLD });
  expect((await verify()).dryRun).toEqual({ config: OLD, kind: 'Node', name: 'worker-0', field: 'desiredConfig' });
});

test.each([
  ['the unused config', OLD, 404, { unused: null, answer: { status: 200 }, state: 'EXPOSED' }],
  ['the config in use', NEW, 409, { dryRun: null, state: 'UNKNOWN' }],
])('reports no dry run if %s is gone', async (_which, name, status, report) => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  answerDeletion(name, fail(status));
  expect(await verify()).toMatchObject(report);
});

test.each<[string, string, object | undefined]>([
  ['a source config', '99-worker', {}],
  ['a missing config', GONE, undefined],
  ['a config with the annotation', GONE, OVERRIDDEN],
  ['a terminating config', GONE, TERMINATING],
])('if a node names only %s, tries no config in use and says why', async (_condition, name, metadata) => {
  if (metadata !== undefined) cluster.create('machineconfigs', { metadata: { name, ...metadata } });
  createNode(cluster, 'worker-0', { currentConfig: name });
  const explanation = expect.stringMatching(/^no rendered MachineConfig is in use, apart from those/) as string;
  expect(await verify()).toMatchObject({ protected: false, state: 'UNKNOWN', dryRun: null, explanation });
});
