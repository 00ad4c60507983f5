import { expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { deleted, refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

// node:http closes idle connections after 5 s unless told otherwise; the API server keeps them for 90 s and would lose
// the race now and then.
test.for([7, 65])('after %i s of silence the next calls are answered', { timeout: 100_000 }, async (seconds) => {
  const used = await cluster.config();
  const node = await cluster.node({ currentConfig: used });
  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  const free = await Promise.all(Array.from({ length: 8 }, () => cluster.config()));
  await Promise.all(Array.from({ length: 8 }, () => cluster.delete(used)));

  await pause(seconds * 1_000);

  // As many at once as there may be idle connections by now.
  const responses = await Promise.all([used, ...free].map((config) => cluster.delete(config)));
  const [first, ...others] = responses;
  if (first === undefined) throw new Error('no response');
  expect(await cluster.outcome(used, first)).toEqual(refusedInUse(used, referrers));
  for (const [index, response] of others.entries()) {
    const config = free[index] ?? '';
    expect(await cluster.outcome(config, response)).toEqual(deleted(config));
  }
});
