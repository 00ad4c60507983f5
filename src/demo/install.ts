import { MACHINE_CONFIGS_PATH, objectPath } from '../kube/api-paths.ts';
import { ApiError } from '../kube/errors.ts';
import type { ApiServer } from './cluster/api-server.ts';
import { startOperator } from './operator/controllers.ts';
import { bootHost, joinCluster } from './operator/hosts.ts';
import { renderMachineConfig } from './operator/machine-config.ts';
import { MASTER_POOL } from './operator/pool.ts';
import type { Actor } from './operator/simulated-clock.ts';
import type { Simulation } from './operator/simulation.ts';

const BOOTSTRAP_HOST = 'control0';
const OTHER_HOSTS = ['control1', 'control2'];
const HOSTS = [BOOTSTRAP_HOST, ...OTHER_HOSTS];

/** Seconds since the hosts were switched on, as in an agent-based install of OpenShift 4.18.30. */
const BOOTSTRAP_RENDERS_AT = 120;
const MASTERS_JOIN_AT = 180;
const OPERATOR_RENDERS_AT = 300;
/** After this the installer waits only for Ready masters. */
const BOOTSTRAP_COMPLETE_AT = 390;
/** While control0 reboots, etcd has no quorum. */
const OUTAGE_SECONDS = 60;
/** The first run is between the updates of two masters, and the second one after all. */
const CLEAN_UP_PAUSES = [366, 240];

/** The two rendered configs differ in this file. */
const BOOTSTRAP_CHRONY = 'server 0.rhel.pool.ntp.org iburst\n';
const CLUSTER_CHRONY = 'server ntp.example.com iburst\n';

/**
 * Starts an agent-based install of three masters in which a job deletes a config in use, or the first config was never
 * in the API. The outcome is not prescribed: the actors follow their rules.
 */
export function startInstall(simulation: Simulation, server: ApiServer, flaw: 'deleted' | 'missing'): void {
  simulation.record('hosts', `${HOSTS.join(', ')} boot; ${BOOTSTRAP_HOST} runs the bootstrap`);
  simulation.start(runBootstrap(simulation, flaw === 'deleted'));
  simulation.start(runInstaller(simulation, server));
  if (flaw === 'deleted') simulation.start(runCleanUp(simulation));
}

/** Runs until every actor waits for another one. Returns whether the install is complete: else it is a deadlock. */
export async function runInstall(simulation: Simulation): Promise<boolean> {
  await simulation.run();
  if (isInstallComplete(simulation)) return true;
  const { updatedMachineCount = 0, machineCount = 0, degradedMachineCount = 0 } = simulation.pool.status;
  const counts = `${updatedMachineCount} of ${machineCount} masters updated, ${degradedMachineCount} Degraded`;
  simulation.record('install', `stuck: ${counts}`);
  return false;
}

function isInstallComplete({ pool: { config, status } }: Simulation): boolean {
  return status.configuration === config && status.updatedMachineCount === HOSTS.length;
}

async function* runBootstrap(simulation: Simulation, isInApi: boolean): Actor {
  yield BOOTSTRAP_RENDERS_AT;
  const first = isInApi ? await simulation.rollOut(BOOTSTRAP_CHRONY) : renderMachineConfig(BOOTSTRAP_CHRONY);
  const { name } = first.metadata;
  const place = isInApi ? `for pool ${MASTER_POOL}` : `on the disk of ${BOOTSTRAP_HOST}, not in the API`;
  simulation.record('bootstrap', `renders ${name} ${place}`);
  yield MASTERS_JOIN_AT - simulation.now;
  for (const host of OTHER_HOSTS) await joinCluster(simulation, host, first);
  simulation.record('hosts', `${OTHER_HOSTS.join(' and ')} join, running ${name}`);
  yield OPERATOR_RENDERS_AT - simulation.now;
  const second = await simulation.rollOut(CLUSTER_CHRONY);
  startOperator(simulation);
  const change = isInApi ? 'new MachineConfig' : 'renders other content';
  simulation.record('operator', `${change}: pool ${MASTER_POOL} -> ${second.metadata.name}`);
}

/** The installer runs on the bootstrap host, which becomes the third master. */
async function* runInstaller(simulation: Simulation, server: ApiServer): Actor {
  const otherCount = OTHER_HOSTS.length;
  yield BOOTSTRAP_COMPLETE_AT;
  yield () => simulation.nodes.filter(({ ready }) => ready).length >= otherCount;
  // Ready does not mean that the configs of the node exist.
  simulation.record('installer', `${otherCount} masters are Ready, bootstrap complete: reboots ${BOOTSTRAP_HOST}`);
  simulation.record('etcd', 'loses its quorum; the API does not answer');
  await server.stop();
  await simulation.advanceTo(simulation.now + OUTAGE_SECONDS);
  await server.start();
  simulation.outageCount += 1;
  simulation.record('etcd', 'has a quorum again; the API answers');
  simulation.start(bootHost(simulation, BOOTSTRAP_HOST));
  yield () => isInstallComplete(simulation);
  simulation.record('install', `complete: all ${HOSTS.length} masters run ${simulation.pool.config}`);
}

/**
 * A job that deletes the rendered configs that no pool references, and ignores the nodes. The Machine Config
 * Operator deletes none (pkg/controller/render, garbageCollectRenderedConfigs).
 */
async function* runCleanUp(simulation: Simulation): Actor {
  for (const pause of CLEAN_UP_PAUSES) {
    yield pause;
    const { config, status } = simulation.pool;
    const names = [...simulation.configs.keys()].filter((name) => name !== config && name !== status.configuration);
    for (const name of names) await deleteConfig(simulation, name);
  }
}

async function deleteConfig(simulation: Simulation, name: string): Promise<void> {
  const users = simulation.nodes.filter((node) => [node.currentConfig, node.desiredConfig].includes(name));
  const nodes = users.map((node) => node.name).join(', ');
  // For the reader. The job does not check nodes.
  const use = nodes === '' ? 'which no node uses any more' : `although ${nodes} runs it`;
  try {
    await simulation.write('DELETE', objectPath(MACHINE_CONFIGS_PATH, name));
    simulation.record('clean-up', `deletes ${name}, ${use}`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    simulation.record('clean-up', `tries to delete ${name}: denied`, error);
  }
}
