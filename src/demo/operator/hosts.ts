import { isDeepStrictEqual } from 'node:util';
import { NODES_PATH } from '../../kube/api-paths.ts';
import type { MachineConfig } from './machine-config.ts';
import { MASTER_LABEL } from './node.ts';
import type { Actor } from './simulated-clock.ts';
import type { Simulation } from './simulation.ts';

/** Seconds, as in an agent-based install of OpenShift 4.18.30. */
const TIMING = {
  /** From the config of the machine-config-server until the node exists. */
  join: 90,
  startUpdate: 1,
  update: 28,
  /** From the reboot until the machine-config-daemon reports. */
  reboot: 30,
  becomeReady: 60,
  /** A Degraded daemon retries. The real one does so after 5 to 60 seconds. */
  retry: 2,
} as const;

/** Boots a host with the config that the machine-config-server of the cluster serves. */
export async function* bootHost(simulation: Simulation, name: string): Actor {
  if (findServedConfig(simulation) === undefined) {
    simulation.record('hosts', `${name} asks the machine-config-server for its config: HTTP 500; retries`);
  }
  yield () => findServedConfig(simulation) !== undefined;
  const config = findServedConfig(simulation) as MachineConfig;
  yield TIMING.join;
  await joinCluster(simulation, name, config);
  simulation.record('hosts', `${name} joins, running ${config.metadata.name}`);
}

/**
 * The config for a machine that boots: from the pool's spec once a machine is updated, until then from its
 * status (machine-config-operator, pkg/server/cluster_server.go).
 *
 * @returns undefined for HTTP 500: the pool names no config, or the config does not exist
 */
function findServedConfig(simulation: Simulation): MachineConfig | undefined {
  const { config, status } = simulation.pool;
  return simulation.configs.get((status.updatedMachineCount ?? 0) > 0 ? config : status.configuration);
}

/** Creates the node of a host that has booted with a config. The config need not exist in the API. */
export async function joinCluster(simulation: Simulation, name: string, config: MachineConfig): Promise<void> {
  const { name: currentConfig } = config.metadata;
  const labels = { [MASTER_LABEL]: '', 'node-role.kubernetes.io/control-plane': '' };
  simulation.disks.set(name, config);
  await simulation.write('POST', NODES_PATH, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  await simulation.annotateNode(name, { currentConfig, desiredConfig: currentConfig, state: 'Done', reason: '' });
  await simulation.setReady(name, true);
  simulation.start(runDaemon(simulation, name));
}

/**
 * The machine-config-daemon gets the current and the desired config when it starts, after a change of the node and
 * after a reconnect. If one is missing, or the disk differs from the current one, the node is Degraded
 * (machine-config-operator, pkg/daemon/daemon.go).
 */
async function* runDaemon(simulation: Simulation, name: string): Actor {
  const formatInput = (): string => {
    const { currentConfig, desiredConfig } = simulation.getNode(name);
    return [currentConfig, desiredConfig, simulation.outageCount].join(' ');
  };
  let input = '';
  let failure: string | undefined;
  yield () => simulation.isOperatorUp;
  for (;;) {
    // The daemon watches its node, but not the configs. Only a failure makes it read them again.
    yield () => formatInput() !== input || (failure !== undefined && findFailure(simulation, name) !== failure);
    if (formatInput() === input) yield TIMING.retry;
    input = formatInput();
    failure = findFailure(simulation, name);
    const { currentConfig, desiredConfig, state, reason } = simulation.getNode(name);
    if (failure !== undefined) {
      if (reason === failure) continue;
      await simulation.annotateNode(name, { state: 'Degraded', reason: failure });
      simulation.record('daemon', `${name} is Degraded: ${failure}`);
      continue;
    }
    if (state === 'Degraded') {
      await simulation.annotateNode(name, { state: 'Done', reason: '' });
      simulation.record('daemon', `${name} is no longer Degraded`);
    }
    if (currentConfig !== desiredConfig) yield* updateNode(simulation, name, desiredConfig);
  }
}

function findFailure(simulation: Simulation, name: string): string | undefined {
  const { currentConfig, desiredConfig } = simulation.getNode(name);
  const missing = [currentConfig, desiredConfig].find((config) => !simulation.configs.has(config));
  if (missing !== undefined) return `missing MachineConfig ${missing}`;
  const isOnDisk = isDeepStrictEqual(simulation.disks.get(name)?.spec, simulation.configs.get(currentConfig)?.spec);
  return isOnDisk ? undefined : `unexpected on-disk state validating against ${currentConfig}`;
}

async function* updateNode(simulation: Simulation, name: string, desired: string): Actor {
  // The daemon has it in memory: a deletion during the update does no harm.
  const config = simulation.configs.get(desired);
  yield TIMING.startUpdate;
  await simulation.annotateNode(name, { state: 'Working', desiredDrain: `drain-${desired}` });
  simulation.record('daemon', `${name} is Working: drains, writes ${desired}`);
  yield () => simulation.canDrain;
  await simulation.annotateNode(name, { lastAppliedDrain: `drain-${desired}` });
  yield TIMING.update;
  await simulation.annotateNode(name, { state: 'Rebooting' });
  await simulation.setReady(name, false);
  if (config !== undefined) simulation.disks.set(name, config);
  simulation.record('daemon', `${name} reboots`);
  yield TIMING.reboot;
  const uncordon = `uncordon-${desired}`;
  await simulation.annotateNode(name, { desiredDrain: uncordon, lastAppliedDrain: uncordon });
  await simulation.annotateNode(name, { currentConfig: desired, state: 'Done' });
  simulation.record('daemon', `${name} is back, Done, running ${desired}`);
  yield TIMING.becomeReady;
  await simulation.setReady(name, true);
}
