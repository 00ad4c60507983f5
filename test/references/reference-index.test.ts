import { expect, test } from 'vitest';
import { summarizeReferences, toConfigName } from '../../src/decision/references.ts';
import { ReferenceIndex } from '../../src/references/reference-index.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';
import { runUntilEnd } from '../support/until-end.ts';

const MCO = 'machineconfiguration.openshift.io';

test('an annotation that imitates two references changes no other node', async () => {
  const cluster = await startTestCluster();
  const create = (name: string, currentConfig: string, desiredConfig = '') => {
    const annotations = { [`${MCO}/currentConfig`]: currentConfig, [`${MCO}/desiredConfig`]: desiredConfig };
    cluster.create('nodes', { metadata: { name, annotations } });
  };
  create('a', 'rendered-a strong,desiredConfig rendered-b');
  create('b', 'rendered-a', 'rendered-b');
  const index = await startIndex(cluster);
  const referrers = index.findReferrers(toConfigName('rendered-a'));
  expect(referrers.map(({ name }) => name)).toEqual(['b']);
});

test('finds all pools with the referrers of a config, because a missing pool counts as deleted', async () => {
  const cluster = await startTestCluster();
  const index = await startIndex(cluster);
  const isPoolDeleted = (pool: string) => {
    const config = toConfigName(`rendered-${pool}-${'0'.repeat(32)}`);
    return summarizeReferences(config, index.findReferrers(config)).isPoolDeleted;
  };
  expect(isPoolDeleted('infra')).toBe(false);
  cluster.create('machineconfigpools', { metadata: { name: 'worker' }, spec: {} });
  await expect.poll(() => isPoolDeleted('infra')).toBe(true);
  expect(isPoolDeleted('worker')).toBe(false);
});

async function startIndex(cluster: TestCluster): Promise<ReferenceIndex> {
  const index = new ReferenceIndex({ api: cluster.connect(), log: memoryLog().log });
  runUntilEnd((signal) => index.run(signal));
  await expect.poll(() => index.isSynced).toBe(true);
  return index;
}
