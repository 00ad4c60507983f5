import { expect, test } from 'vitest';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { type Replay, replayIncidentA } from '../../src/demo/story/replay.ts';
import type { StoryOptions } from '../../src/demo/story/story.ts';
import { register, stubWebhook } from '../support/stub-webhook.ts';
import { startTestCluster } from '../support/test-cluster.ts';

const FIRST = 'rendered-master-aaa111';
const SECOND = 'rendered-master-bbb222';

async function replay(cluster: InMemoryCluster, options: Partial<StoryOptions> = {}): Promise<Replay> {
  const server = { start: async () => {}, stop: async () => {} };
  return await replayIncidentA({ cluster, server, speed: 5_000, ...options });
}

test('ends in the deadlock of the incident if every deletion is allowed', async () => {
  const { outcome, events, nodes, pool, configs } = await replay(new InMemoryCluster());
  expect(outcome).toBe('deadlock');
  expect(events.at(-1)).toMatchObject({ t: 570, actor: 'install' });
  expect(nodes.map(({ name, current, desired, state }) => [name, current, desired, state])).toEqual([
    ['control0', SECOND, SECOND, 'Done'],
    ['control1', SECOND, SECOND, 'Done'],
    ['control2', FIRST, FIRST, 'Degraded'],
  ]);
  expect(nodes[2]).toMatchObject({ reason: `missing MachineConfig ${FIRST}`, ready: true });
  expect(pool).toMatchObject({ updatedMachineCount: 2, degradedMachineCount: 1, configuration: '' });
  expect(configs).toEqual([SECOND]);
});

test('has the same events at any speed, and reports them as they happen', async () => {
  const reported: unknown[] = [];
  const slow = await replay(new InMemoryCluster(), {
    speed: 2_000,
    onEvent: (event) => reported.push(event),
  });
  const fast = await replay(new InMemoryCluster(), { speed: 100_000 });
  expect(slow.events).toEqual(fast.events);
  expect(reported).toEqual(slow.events);
});

test('completes and keeps the config if every deletion is denied', async () => {
  const cluster = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: false } }));
  register(cluster, webhook.at);
  const { outcome, configs } = await replay(cluster);
  expect(outcome).toBe('completed');
  expect(configs).toEqual([FIRST, SECOND]);
  expect(webhook.calls).toHaveLength(4);
});
