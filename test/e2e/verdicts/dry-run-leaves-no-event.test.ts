import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { deleted, refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();
const DRY_RUN = { dryRun: 'All' };

test('a dry run is refused in the same words as the deletion, and leaves no Event', async () => {
  const config = await cluster.config();
  const node = await cluster.node({ currentConfig: config });
  const later = await cluster.config();
  await cluster.node({ currentConfig: later });

  const dryRun = await cluster.delete(config, DRY_RUN);

  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(await cluster.outcome(config, dryRun)).toEqual(refusedInUse(config, referrers));
  // Once the Event of a later denial is there, one of the dry run would be, too.
  await cluster.delete(later);
  await cluster.awaitEvent(later);
  expect(await cluster.eventsAbout(config)).toEqual([]);
  expect(statusOf(await cluster.delete(config)).message).toBe(statusOf(dryRun).message);
  await cluster.awaitEvent(config);
});

test('a dry run for a config that nothing names is allowed and deletes nothing', async () => {
  const config = await cluster.config();

  const response = await cluster.delete(config, DRY_RUN);

  expect(await cluster.outcome(config, response)).toEqual({ ...deleted(config), exists: true });
});
