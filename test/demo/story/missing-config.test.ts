import { expect, test } from 'vitest';
import { findServedConfig } from '../../../src/demo/operator/machine-config-server.ts';
import { MISSING_CONFIG, startMissingConfigInstall } from '../../../src/demo/story/missing-config.ts';
import { startTestCluster } from '../../support/test-cluster.ts';

test('ends in the deadlock of an install whose first config was never in the API', async () => {
  const api = (await startTestCluster()).connect();
  const server = { start: async () => {}, stop: async () => {} };
  const install = startMissingConfigInstall({ api, server, speed: 5_000 });
  const { outcome, nodes, pool, configs, events } = await install.run();
  const { name: missing } = MISSING_CONFIG.metadata;
  expect(outcome).toBe('deadlock');
  expect(configs).toHaveLength(1);
  expect(configs).not.toContain(missing);
  expect(nodes).toMatchObject(
    ['control1', 'control2'].map((name) => ({
      name,
      current: missing,
      desired: missing,
      state: 'Degraded',
      reason: `missing MachineConfig ${missing}`,
      ready: true,
    })),
  );
  expect(pool).toEqual({
    machineCount: 2,
    updatedMachineCount: 0,
    readyMachineCount: 0,
    unavailableMachineCount: 2,
    degradedMachineCount: 2,
    configuration: '',
  });
  expect(findServedConfig(install.simulation)).toBeUndefined();
  const messages = events.map(({ message }) => message);
  expect(messages).toContain('No capacity left (unavail=2 >= maxUnavailable=1): control1 and control2 Degraded');
  expect(messages).toContain('control0 asks the machine-config-server for its config: HTTP 500; retries');
});
