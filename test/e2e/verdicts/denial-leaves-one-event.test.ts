import { expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test('a refused deletion leaves an Event about the MachineConfig, and repeats are counted in it', async () => {
  const config = await cluster.config();
  const node = await cluster.node({ currentConfig: config });

  expect((await cluster.delete(config)).status).toBe(403);

  const event = await cluster.awaitEvent(config);
  expect(event).toMatchObject({
    type: 'Warning',
    reason: 'DeletionDenied',
    regarding: { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig', name: config },
  });
  expect(event.note).toContain(`is in use by node ${node}`);

  for (let repeat = 0; repeat < 4; repeat += 1) expect((await cluster.delete(config)).status).toBe(403);
  const counted = await until(
    'the five denials to be counted in the Event',
    async () => (await cluster.eventsAbout(config)).find((one) => one.series?.count === 5),
    { timeoutMs: 20_000 },
  );
  expect(counted.metadata.name).toBe(event.metadata.name);
  expect(await cluster.eventsAbout(config)).toHaveLength(1);
});

test('an allowed deletion leaves no Event', async () => {
  const config = await cluster.config();
  const later = await cluster.config();
  await cluster.node({ currentConfig: later });

  expect((await cluster.delete(config)).status).toBe(200);

  await cluster.delete(later);
  await cluster.awaitEvent(later);
  expect(await cluster.eventsAbout(config)).toEqual([]);
});
