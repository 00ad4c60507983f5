import { expect, test } from 'vitest';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';
import { GUARD_RIGHTS } from '../install/relations/guard-rights.ts';
import { toRight } from '../support/rights.ts';
import { startWorld } from '../virtual-time/world.ts';

const REFERRERS = ['nodes', 'machineconfigpools', 'machineosbuilds'];

test('the guard does everything that its roles allow, and nothing else', async () => {
  const { world, replica, clock } = await startWorld({ followsSecret: true });
  const { cluster, faults } = world;
  for (const [index, resource] of REFERRERS.entries()) {
    const config = `rendered-other-${String(index).repeat(32)}`;
    cluster.create('machineconfigs', { metadata: { name: config } });
    cluster.create(resource, toReferrer(resource, config));
    await clock.settle();
    // A GET confirms the reference that the watch has delivered.
    expect((await replica.review(config)).code).toBe('MCG_IN_USE');
  }
  await replica.scrape();
  // The guard reads a config whose event is lost.
  faults.intercept(({ isWatch, path }) => (isWatch && path.endsWith('machineconfigs') ? 'hang' : 'pass'));
  for (const watch of faults.watches) watch.destroy();
  const unknown = `rendered-worker-${'f'.repeat(32)}`;
  cluster.create('machineconfigs', { metadata: { name: unknown } });
  expect((await replica.review(unknown)).code).toBe('MCG_NOT_IN_USE');

  // A stop releases the Lease.
  await replica.end();
  const rights = new Set(faults.requests.flatMap(toRight));
  expect([...rights].toSorted()).toEqual(GUARD_RIGHTS);
});

function toReferrer(resource: string, config: string) {
  const metadata = { name: 'x' };
  if (resource === 'nodes')
    return { metadata: { ...metadata, annotations: { [`${MCO_GROUP}/currentConfig`]: config } } };
  const reference = { name: config };
  return {
    metadata,
    spec: resource === 'machineosbuilds' ? { machineConfig: reference } : { configuration: reference },
  };
}
