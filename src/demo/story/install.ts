import type { ApiServer } from '../cluster/api-server.ts';
import { bootHost, joinCluster } from '../operator/hosts.ts';
import type { MachineConfig } from '../operator/machine-config.ts';
import type { NodeView } from '../operator/nodes.ts';
import type { PoolStatus } from '../operator/pool.ts';
import { Simulation, type SimulationEvent, type SimulationOptions } from '../operator/simulation.ts';
import { TIMING } from './timing.ts';

/** The end of an install. In a deadlock every actor waits for another one. */
export interface InstallResult {
  readonly outcome: 'completed' | 'deadlock';
  readonly events: readonly SimulationEvent[];
  readonly nodes: readonly NodeView[];
  readonly pool: PoolStatus;
  readonly configs: readonly string[];
}

export interface InstallOptions extends SimulationOptions {
  /** Is stopped while etcd has no quorum. */
  readonly server: Pick<ApiServer, 'start' | 'stop'>;
}

const BOOTSTRAP_HOST = 'control0';
const OTHER_HOSTS = ['control1', 'control2'] as const;
const HOSTS = [BOOTSTRAP_HOST, ...OTHER_HOSTS];

/** An agent-based install of three masters. The outcome is not prescribed: the actors follow their rules. */
export class Install {
  readonly simulation: Simulation;
  #isComplete = false;

  constructor(options: InstallOptions) {
    this.simulation = new Simulation(options);
    this.simulation.record('hosts', `${HOSTS.join(', ')} boot; ${BOOTSTRAP_HOST} runs the bootstrap`);
    this.simulation.clock.start(async () => {
      await this.#runInstaller(options.server);
    });
  }

  /** Two masters join with the config that the bootstrap served. */
  async joinFirstMasters(first: MachineConfig): Promise<void> {
    await this.simulation.clock.sleepUntil(TIMING.mastersJoinAt);
    for (const name of OTHER_HOSTS) await joinCluster(this.simulation, name, first);
    this.simulation.record('hosts', `${OTHER_HOSTS.join(' and ')} join, running ${first.metadata.name}`);
  }

  /** Runs until every actor waits for another one. */
  async run(): Promise<InstallResult> {
    await this.simulation.clock.runUntilIdle();
    const { events, nodes, configs, pool } = this.simulation;
    const { updatedMachineCount, machineCount, degradedMachineCount } = pool.status;
    if (!this.#isComplete) {
      const counts = `${updatedMachineCount} of ${machineCount} masters updated, ${degradedMachineCount} Degraded`;
      this.simulation.record('install', `stuck: ${counts}`);
    }
    const outcome = this.#isComplete ? 'completed' : 'deadlock';
    return { outcome, events: [...events], nodes, pool: pool.status, configs };
  }

  /** Continues with a repair, until every actor waits for another one. */
  async runWith<Result>(
    repair: (sleep: (ms: number) => Promise<void>) => Promise<Result>,
  ): Promise<InstallResult & { readonly result: Result }> {
    const [install, result] = await Promise.all([this.run(), this.simulation.pauseDuring(repair)]);
    return { ...install, result };
  }

  /** The installer runs on the bootstrap host, which becomes the third master. */
  async #runInstaller(server: InstallOptions['server']): Promise<void> {
    const simulation = this.simulation;
    const { clock } = simulation;
    const otherCount = OTHER_HOSTS.length;
    await clock.sleepUntil(TIMING.bootstrapCompleteAt);
    await clock.waitFor(() => simulation.nodes.filter(({ ready }) => ready).length >= otherCount);
    // Ready does not mean that the configs of the node exist.
    simulation.record('installer', `${otherCount} masters are Ready, bootstrap complete: reboots ${BOOTSTRAP_HOST}`);
    clock.start(async () => await bootHost(simulation, BOOTSTRAP_HOST));
    simulation.record('etcd', 'loses its quorum; the API does not answer');
    simulation.isApiUp = false;
    await clock.pauseDuring(server.stop());
    await clock.sleep(TIMING.apiAway);
    await clock.pauseDuring(server.start());
    simulation.outageCount += 1;
    simulation.isApiUp = true;
    simulation.record('etcd', 'has a quorum again; the API answers');
    await clock.waitFor(() => {
      const { config, status } = simulation.pool;
      return status.configuration === config && status.updatedMachineCount === HOSTS.length;
    });
    simulation.record('install', `complete: all ${HOSTS.length} masters run ${simulation.pool.config}`);
    this.#isComplete = true;
  }
}
