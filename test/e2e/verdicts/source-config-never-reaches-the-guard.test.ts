import { expect, test } from 'vitest';

import { sharedCluster, unique } from '../support/cluster.ts';
import { awaitDecisions, decisionsAbout } from '../support/guard-process.ts';

const cluster = sharedCluster();

test('a source MachineConfig is deleted without the guard being asked, even if a node names it', async () => {
  const source = await cluster.config({ name: unique('99-worker') });
  await cluster.node({ currentConfig: source });
  const rendered = await cluster.config();

  const response = await cluster.delete(source);

  expect(await cluster.outcome(source, response)).toEqual({ status: 200, exists: false, audited: {} });
  // Once the guard has logged a later question, it would have logged an earlier one.
  await cluster.delete(rendered);
  await awaitDecisions(cluster.connection.guardLog, rendered);
  expect(await decisionsAbout(cluster.connection.guardLog, source)).toEqual([]);
});
