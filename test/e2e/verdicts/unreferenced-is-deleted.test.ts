import { expect, test } from 'vitest';

import { deleted, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test('a config that nothing names is deleted without a warning', async () => {
  const config = await cluster.config();

  const response = await cluster.delete(config);

  expect(await cluster.outcome(config, response)).toEqual(deleted(config));
  expect(response.warnings).toEqual([]);
});

test('a config whose last referrer has just moved on is deleted at once', async () => {
  const [config, next] = [await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: config, desiredConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  await cluster.moveNode(node, { currentConfig: next, desiredConfig: next });

  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(deleted(config));
});

test('a name that only begins like one in use is not in use', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: `${config}0`, desiredConfig: `${config}0` });

  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(deleted(config));
});
