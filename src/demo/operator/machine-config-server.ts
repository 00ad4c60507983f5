import type { MachineConfig } from './machine-config.ts';
import type { Simulation } from './simulation.ts';

/**
 * The config for a machine that boots: from the pool's spec once a machine is updated, until then from its
 * status (machine-config-operator, pkg/server/cluster_server.go).
 *
 * @returns undefined for HTTP 500: the pool names no config, or the config does not exist
 */
export function findServedConfig(simulation: Simulation): MachineConfig | undefined {
  const { config, status } = simulation.pool;
  return simulation.findConfig(status.updatedMachineCount > 0 ? config : status.configuration);
}
