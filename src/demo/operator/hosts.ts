import { runMachineConfigDaemon } from './machine-config-daemon.ts';
import { findServedConfig } from './machine-config-server.ts';
import type { MachineConfig } from './machine-config.ts';
import { buildMaster } from './nodes.ts';
import type { Simulation } from './simulation.ts';
import { OPERATOR_TIMING } from './timing.ts';

/** Boots a host with the config that the machine-config-server of the cluster serves. */
export async function bootHost(simulation: Simulation, name: string): Promise<void> {
  const { clock } = simulation;
  await clock.sleep(OPERATOR_TIMING.hostStarts);
  await clock.waitFor(() => simulation.isApiUp);
  let config = findServedConfig(simulation);
  if (config === undefined) {
    simulation.record('hosts', `${name} asks the machine-config-server for its config: HTTP 500; retries`);
  }
  while (config === undefined) {
    await clock.waitFor(() => simulation.isApiUp && findServedConfig(simulation) !== undefined);
    await clock.sleep(OPERATOR_TIMING.hostRetries);
    config = findServedConfig(simulation);
  }
  await clock.sleep(OPERATOR_TIMING.hostJoins);
  await joinCluster(simulation, name, config);
  simulation.record('hosts', `${name} joins, running ${config.metadata.name}`);
}

/** Creates the node of a host that has booted with a config. The config need not exist in the API. */
export async function joinCluster(simulation: Simulation, name: string, config: MachineConfig): Promise<void> {
  simulation.disks.set(name, config);
  await simulation.createNode(buildMaster(name));
  const { name: current } = config.metadata;
  await simulation.patchNode(name, { current, desired: current, state: 'Done', reason: '', ready: true });
  simulation.clock.start(async () => await runMachineConfigDaemon(simulation, name));
}
