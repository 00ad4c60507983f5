import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { sharedCluster, unique } from '../support/cluster.ts';

const cluster = sharedCluster();

test('a config that many things name is refused with three nodes by name, the rest as a number, and the pool', async () => {
  const config = await cluster.config();
  const prefix = unique('worker');
  for (let index = 0; index < 12; index += 1) {
    await cluster.node({ name: `${prefix}-${index}`, currentConfig: config, desiredConfig: config });
  }
  const pool = (await cluster.pool({ spec: config, status: config })).metadata.name;
  // One user that it knows of is reason enough to refuse: the last one written is named as soon as the watch has brought it.
  await until(
    'the guard to know them all',
    async () => {
      const { message = '' } = statusOf(await cluster.delete(config, { dryRun: 'All' }));
      return message.includes('(spec, status)');
    },
    { timeoutMs: 10_000 },
  );

  const response = await cluster.delete(config);

  expect(response.status).toBe(403);
  const { message = '' } = statusOf(response);
  expect(message).toContain('is in use by 12 nodes (');
  expect(message).toContain('and 9 more)');
  expect(message).toContain(`pool ${pool} (spec, status)`);
  expect(message).not.toContain('\n');
  const { denied } = auditedVerdicts(await cluster.auditEvent(response));
  expect(denied?.referrers).toHaveLength(10);
  // Twelve nodes with two fields each and the pool with two.
  expect(denied?.more).toBe(16);
});
