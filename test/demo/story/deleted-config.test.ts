import { expect, test } from 'vitest';
import { renderMachineConfig } from '../../../src/demo/operator/machine-config.ts';
import type { SimulationOptions } from '../../../src/demo/operator/simulation.ts';
import { CHRONY_FILES } from '../../../src/demo/story/chrony-files.ts';
import { replayDeletedConfig } from '../../../src/demo/story/deleted-config.ts';
import type { InstallResult } from '../../../src/demo/story/install.ts';
import { register, stubWebhook } from '../../support/stub-webhook.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const { name: FIRST } = renderMachineConfig(CHRONY_FILES.bootstrap).metadata;
const { name: SECOND } = renderMachineConfig(CHRONY_FILES.cluster).metadata;

async function replay(cluster: TestCluster, options: Partial<SimulationOptions> = {}): Promise<InstallResult> {
  const server = { start: async () => {}, stop: async () => {} };
  const api = cluster.connect();
  return await replayDeletedConfig({ api, cleanUpApi: api, server, speed: 5_000, ...options });
}

test('ends in the deadlock of the incident if every deletion is allowed', async () => {
  const { outcome, events, nodes, pool, configs } = await replay(await startTestCluster());
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
  const slow = await replay(await startTestCluster(), {
    speed: 2_000,
    onEvent: (event) => reported.push(event),
  });
  const fast = await replay(await startTestCluster(), { speed: 100_000 });
  expect(slow.events).toEqual(fast.events);
  expect(reported).toEqual(slow.events);
});

test('completes and keeps the config if every deletion is denied', async () => {
  const cluster = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: false } }));
  register(cluster, webhook.at);
  const { outcome, configs } = await replay(cluster);
  expect(outcome).toBe('completed');
  expect(configs).toEqual([FIRST, SECOND].sort());
  expect(webhook.calls).toHaveLength(4);
});
