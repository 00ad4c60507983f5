import { expect, test } from 'vitest';
import { bootHost, joinCluster } from '../../../src/demo/operator/hosts.ts';
import { findRetryTime } from '../../../src/demo/operator/machine-config-daemon.ts';
import { type MachineConfig, renderMachineConfig } from '../../../src/demo/operator/machine-config.ts';
import { startOperator } from '../../../src/demo/operator/node-controller.ts';
import { Simulation } from '../../../src/demo/operator/simulation.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const [MISSING, CLUSTER] = [renderMachineConfig('missing'), renderMachineConfig('cluster')];

/** A node runs a config that is missing in the API, and a host boots. */
async function createDeadlock() {
  const cluster = await startTestCluster();
  const simulation = new Simulation({ api: cluster.connect(), speed: 5_000 });
  simulation.clock.start(async () => {
    await joinCluster(simulation, 'a', MISSING);
    await simulation.createPool();
    await simulation.rollOut(CLUSTER);
    startOperator(simulation);
    await bootHost(simulation, 'b');
  });
  await simulation.clock.runUntilIdle();
  return { cluster, simulation };
}

async function createConfig(cluster: TestCluster, simulation: Simulation, config: MachineConfig) {
  cluster.create('machineconfigs', { ...config });
  await simulation.refresh();
  await simulation.clock.runUntilIdle();
}

test('is Degraded while the config of its node is missing, and then updates the node', async () => {
  const { cluster, simulation } = await createDeadlock();
  const { name } = MISSING.metadata;
  const reason = `missing MachineConfig ${name}`;
  expect(simulation.nodes).toMatchObject([{ name: 'a', state: 'Degraded', reason }]);
  await createConfig(cluster, simulation, MISSING);
  const { name: current } = CLUSTER.metadata;
  expect(simulation.nodes).toMatchObject([
    { name: 'a', state: 'Done', current, reason: '' },
    { name: 'b', state: 'Done', current, reason: '' },
  ]);
  expect(simulation.disks.get('a')).toMatchObject({ spec: CLUSTER.spec });
});

test('stays Degraded if the content of the config differs from the disk', async () => {
  const { cluster, simulation } = await createDeadlock();
  const { name } = MISSING.metadata;
  await createConfig(cluster, simulation, { ...MISSING, spec: CLUSTER.spec });
  const reason = `unexpected on-disk state validating against ${name}`;
  expect(simulation.nodes).toMatchObject([{ name: 'a', state: 'Degraded', reason }]);
});

test.each([
  [100, 100],
  [101, 105],
  [106, 115],
  [116, 135],
  [136, 175],
  [176, 235],
  [236, 295],
])('a daemon that failed at 100 s and can succeed at %i s retries at %i s', (time, retryTime) => {
  expect(findRetryTime(100, time)).toBe(retryTime);
});
