import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { roleLabels } from '../../support/operator-objects.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { MCO, PATHS, readAnnotations } from '../support/objects.ts';
import { IS_LONG } from '../support/runner.ts';
import { OperatorCluster } from './operator-cluster.ts';

// What the real controller does in states that no condition explains.

const KUBELET_CONFIGS = `/apis/${MCO}/v1/kubeletconfigs`;

const operator = await OperatorCluster.shared();
const { admin, installed } = operator;
const { cluster } = installed;
const api = installed.controlPlane.connectApi();
const pools: string[] = [];

beforeAll(() => createPool('healthy'));
afterAll(async () => {
  api.close();
  for (const pool of pools) await admin.delete(`${PATHS.nodes}/${pool}-0`);
  for (const pool of pools) await admin.delete(`${PATHS.pools}/${pool}`);
});

/** A pool with one node, which is at rest. Nothing runs on it. */
async function createPool(name: string): Promise<string> {
  pools.push(name);
  await cluster.pool({ name });
  const config = await operator.awaitUpdated(name);
  await cluster.node({ name: `${name}-0`, role: name, currentConfig: config, desiredConfig: config });
  return operator.awaitUpdated(name, 1);
}

async function changeSource(pool: string): Promise<void> {
  const files = [{ path: `/etc/${Date.now()}`, contents: { source: 'data:,a' } }];
  await operator.applySource(pool, `50-${pool}`, { config: { ignition: { version: '3.4.0' }, storage: { files } } });
}

async function getAnnotation(pool: string, key: string): Promise<string | undefined> {
  return readAnnotations((await admin.find(`${PATHS.nodes}/${pool}-0`)) as KubeObject)[key];
}

async function awaitAnnotation(pool: string, key: string, value: string): Promise<void> {
  await operator.until(`${key} ${value} of ${pool}-0`, async () => (await getAnnotation(pool, key)) === value);
}

/** By then, the operator has also looked at everything that was changed before. */
async function awaitRolloutOfHealthyPool(): Promise<void> {
  const config = await getAnnotation('healthy', 'desiredConfig');
  await changeSource('healthy');
  const next = await operator.awaitRendered('healthy', config);
  await awaitAnnotation('healthy', 'desiredConfig', next);
  await cluster.moveNode('healthy-0', { currentConfig: next });
}

async function findProblems(...names: readonly string[]) {
  const { problems } = (await checkCluster(api)).report;
  const own = problems.filter(({ name }) => names.includes(name ?? ''));
  return own.map(({ code, name, recoverable }) => `${name}: ${code}${recoverable ? '?' : ''}`);
}

async function expectTakenBack(pool: string, values?: Readonly<Record<string, string>>): Promise<void> {
  const config = await createPool(pool);
  const other = await operator.awaitUpdated('worker');
  await cluster.moveNode(`${pool}-0`, values ?? { currentConfig: other, desiredConfig: other });
  await expect(awaitAnnotation(pool, 'desiredConfig', config)).resolves.toBeUndefined();
}

describe('the real machine-config-controller', () => {
  test('updates no node while maxUnavailable is neither a number nor a percentage', async () => {
    const config = await createPool('text');
    await admin.patch(`${PATHS.pools}/text`, { spec: { maxUnavailable: '3' } });
    await changeSource('text');
    const next = await operator.awaitRendered('text', config);
    await awaitRolloutOfHealthyPool();

    expect(await getAnnotation('text', 'desiredConfig')).toBe(config);
    expect(await findProblems('text', 'text-0')).toEqual(['text: ObjectRejected']);

    await admin.patch(`${PATHS.pools}/text`, { spec: { maxUnavailable: 3 } });
    await awaitAnnotation('text', 'desiredConfig', next);
  });

  test('updates no node of any pool while the node selector of one is invalid', async () => {
    const config = await createPool('other');
    await createPool('invalid');
    const matchExpressions = [{ key: 'node-role.kubernetes.io/invalid', operator: 'in', values: [''] }];
    await admin.patch(`${PATHS.pools}/invalid`, { spec: { nodeSelector: { matchExpressions } } });
    await changeSource('other');
    const next = await operator.awaitRendered('other', config);
    await operator.awaitUpdated('other', 0);

    expect(await getAnnotation('other', 'desiredConfig')).toBe(config);
    expect(await findProblems('other', 'other-0', 'invalid')).toEqual([
      'other-0: ObjectRejected',
      'invalid: ObjectRejected',
      'other: ObjectRejected',
    ]);

    await admin.patch(`${PATHS.pools}/invalid`, { spec: { nodeSelector: { matchExpressions: null } } });
    // The operator looks at other pools again when they or their nodes change.
    await admin.patch(`${PATHS.nodes}/other-0`, { metadata: { labels: { changed: 'yes' } } });
    await awaitAnnotation('other', 'desiredConfig', next);
  });

  test('takes a node back whose config is missing', async () => {
    await expectTakenBack('missing', { desiredConfig: `rendered-missing-${'0'.repeat(32)}`, state: 'Degraded' });
  });

  // Each waits longer than the others, or for the same as one of them.
  if (!IS_LONG) return;

  test('takes a node back whose config is foreign', async () => {
    await expectTakenBack('foreign');
  });

  test('renders no config for a pool while a KubeletConfig that selects it has failed', async () => {
    const config = await createPool('tuned');
    await admin.patch(`${PATHS.pools}/tuned`, { metadata: { labels: { tuned: 'yes' } } });
    await admin.create(KUBELET_CONFIGS, {
      apiVersion: `${MCO}/v1`,
      kind: 'KubeletConfig',
      metadata: { name: 'rejected' },
      spec: { machineConfigPoolSelector: { matchLabels: { tuned: 'yes' } }, kubeletConfig: { clusterDomain: 'x' } },
    });
    await operator.until('the KubeletConfig to fail', async () => (await findProblems('tuned')).length > 0);
    await changeSource('tuned');
    await awaitRolloutOfHealthyPool();

    expect(await operator.awaitUpdated('tuned', 1)).toBe(config);
    expect(await findProblems('tuned', 'tuned-0')).toEqual(['tuned: ObjectRejected']);

    await admin.delete(`${KUBELET_CONFIGS}/rejected`);
    await awaitAnnotation('tuned', 'desiredConfig', await operator.awaitRendered('tuned', config));
  });

  test('does not drain a node that is in two custom pools', async () => {
    const config = await createPool('first');
    await createPool('second');
    await admin.patch(`${PATHS.nodes}/first-0`, { metadata: { labels: roleLabels('second') } });
    for (const pool of ['first', 'second']) await cluster.moveNode(`${pool}-0`, { desiredDrain: `drain-${config}` });
    await awaitAnnotation('second', 'lastAppliedDrain', `drain-${config}`);

    expect(await getAnnotation('first', 'lastAppliedDrain')).toBeUndefined();
    expect(await findProblems('first-0')).toEqual(['first-0: PoolConflict']);

    await admin.patch(`${PATHS.nodes}/first-0`, { metadata: { labels: { 'node-role.kubernetes.io/second': null } } });
    await awaitAnnotation('first', 'lastAppliedDrain', `drain-${config}`);
  });
});
