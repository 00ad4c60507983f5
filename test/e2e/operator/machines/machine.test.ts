import { afterAll, expect, test } from 'vitest';
import { OperatorCluster } from '../operator-cluster.ts';
import { UPDATE_FILE } from './disk.ts';

const operator = await OperatorCluster.shared();
afterAll(() => operator.removeMachines());

test('boots into the config that the server serves, and reports it', async () => {
  const { machine, config } = await operator.bootPool('first-boot');
  expect(machine.bootCount).toBe(2);
  expect(machine.read(UPDATE_FILE)).toContain(config);
});
