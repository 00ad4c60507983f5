import { expect, test } from 'vitest';
import { startOperator } from '../../../src/demo/operator/controllers.ts';
import { bootHost, joinCluster } from '../../../src/demo/operator/hosts.ts';
import { renderMachineConfig } from '../../../src/demo/operator/machine-config.ts';
import { Simulation } from '../../../src/demo/operator/simulation.ts';
import { startTestCluster } from '../../support/test-cluster.ts';

const MISSING = renderMachineConfig('missing');

/** Node `a` runs a config that is missing in the API, and host `b` boots. */
async function createDeadlock() {
  const cluster = await startTestCluster();
  const simulation = new Simulation({ api: cluster.connect(), speed: Number.POSITIVE_INFINITY });
  await joinCluster(simulation, 'a', MISSING);
  const target = await simulation.rollOut('cluster');
  startOperator(simulation);
  simulation.start(bootHost(simulation, 'b'));
  await simulation.run();
  const reason = `missing MachineConfig ${MISSING.metadata.name}`;
  expect(simulation.nodes).toMatchObject([{ name: 'a', state: 'Degraded', reason }]);
  return { cluster, simulation, target };
}

test('nodes are updated once the missing config exists, and notice a deletion when they reconnect', async () => {
  const { cluster, simulation, target } = await createDeadlock();
  const { name: currentConfig } = target.metadata;
  const updated = ['a', 'b'].map((name) => ({ name, state: 'Done', currentConfig, reason: '' }));
  cluster.create('machineconfigs', MISSING);
  await simulation.run();
  expect(simulation.nodes).toMatchObject(updated);
  expect(simulation.disks.get('a')).toMatchObject({ spec: target.spec });

  cluster.erase('machineconfigs', currentConfig);
  await simulation.run();
  expect(simulation.nodes).toMatchObject(updated);
  simulation.outageCount += 1;
  await simulation.run();
  expect(simulation.nodes).toMatchObject([{ state: 'Degraded' }, { state: 'Degraded' }]);
});

test('a node stays Degraded if the content of its config differs from the disk', async () => {
  const { cluster, simulation, target } = await createDeadlock();
  cluster.create('machineconfigs', { ...MISSING, spec: target.spec });
  await simulation.run();
  const reason = `unexpected on-disk state validating against ${MISSING.metadata.name}`;
  expect(simulation.nodes).toMatchObject([{ name: 'a', state: 'Degraded', reason }]);
});
