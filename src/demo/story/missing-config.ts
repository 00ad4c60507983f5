import { renderMachineConfig } from '../operator/machine-config.ts';
import { startOperator } from '../operator/node-controller.ts';
import { MASTER_POOL } from '../operator/pool.ts';
import { Simulation, type SimulationOptions } from '../operator/simulation.ts';
import { CHRONY_FILES } from './chrony-files.ts';
import { Install, type InstallResult, type StoppableServer } from './install.ts';
import { TIMING } from './timing.ts';

export interface MissingConfigOptions extends SimulationOptions {
  readonly server: StoppableServer;
}

/** An install in which the masters run a config that was never in the API. It ends in a deadlock. */
export class MissingConfigStory {
  readonly simulation: Simulation;
  /** The config that the bootstrap rendered. */
  readonly missing = renderMachineConfig(CHRONY_FILES.bootstrap);
  readonly #install: Install;

  constructor(options: MissingConfigOptions) {
    // Without the third etcd member no master can be drained, so the operator cannot recover alone.
    this.simulation = new Simulation({ ...options, minMastersToDrain: 3 });
    this.#install = new Install(this.simulation, options.server);
    const { clock } = this.simulation;
    clock.start(async () => {
      await clock.sleepUntil(TIMING.bootstrapRendersAt);
      const { name } = this.missing.metadata;
      this.simulation.record('bootstrap', `renders ${name} on the disk of control0, not in the API`);
      await this.#install.joinFirstMasters(this.missing);
    });
    clock.start(async () => {
      await clock.sleepUntil(TIMING.operatorRendersAt);
      await this.simulation.createPool();
      const rendered = renderMachineConfig(CHRONY_FILES.cluster, this.simulation.pool.uid);
      await this.simulation.rollOut(rendered);
      startOperator(this.simulation);
      const { name } = rendered.metadata;
      this.simulation.record('operator', `renders other content: pool ${MASTER_POOL} -> ${name}`);
    });
  }

  /** Runs until every actor waits for another one. */
  async run(): Promise<InstallResult> {
    return await this.#install.run();
  }

  /** Continues with a repair, until every actor waits for another one. */
  async runWith<Result>(
    repair: (sleep: (ms: number) => Promise<void>) => Promise<Result>,
  ): Promise<InstallResult & { readonly result: Result }> {
    const [install, result] = await Promise.all([this.#install.run(), this.simulation.pauseDuring(repair)]);
    return { ...install, result };
  }

  /** What the machine-config-server wrote to /etc/mcs-machine-config-content.json of a node. */
  readNodeFile(name: string): string {
    return JSON.stringify(this.simulation.disks.get(name));
  }
}
