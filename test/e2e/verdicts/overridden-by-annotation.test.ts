import { expect, test } from 'vitest';

import { refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();
const ALLOW_DELETION = 'machineconfig-guard.io/allow-deletion';

test('a config in use is deleted when its annotation gives a reason, and the reason is audited and shown', async () => {
  const reason = 'worker-7 was scrapped, ticket 4711';
  const config = await cluster.config({ annotations: { [ALLOW_DELETION]: reason } });
  await cluster.node({ currentConfig: config, desiredConfig: config });

  const response = await cluster.delete(config);

  expect(await cluster.outcome(config, response)).toEqual({
    status: 200,
    exists: false,
    audited: { overridden: { name: config, code: 'MCG_OVERRIDDEN', referrers: [], more: 0, reason } },
  });
  expect(response.warnings.join()).toContain(reason);
});

test('the annotation without a reason does not count', async () => {
  const config = await cluster.config({ annotations: { [ALLOW_DELETION]: ' ' } });
  const node = await cluster.node({ currentConfig: config });

  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(refusedInUse(config, referrers));
});
