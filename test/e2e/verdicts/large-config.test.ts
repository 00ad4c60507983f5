import { expect, test } from 'vitest';

import { deleted, refusedInUse, sharedCluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();
/** Just below etcd's limit of 1.5 MiB for one request: larger ones cannot exist. */
const LARGEST = Math.floor(1.4 * 1024 * 1024);

test('a rendered config of 1.4 MiB gets the right verdict, in use and free', async () => {
  const config = await cluster.config({ bytes: LARGEST });
  expect(JSON.stringify(await cluster.admin.find(`${PATHS.configs}/${config}`)).length).toBeGreaterThan(LARGEST);
  const node = await cluster.node({ currentConfig: config });

  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(refusedInUse(config, referrers));

  await cluster.moveNode(node, { currentConfig: await cluster.config() });
  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(deleted(config));
});
