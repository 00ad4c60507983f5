import type { KubeApi } from '../../kube/api.ts';
import { renderMachineConfig } from '../operator/machine-config.ts';
import { startOperator } from '../operator/node-controller.ts';
import { MASTER_POOL } from '../operator/pool.ts';
import { runCleanUp } from './clean-up.ts';
import { CHRONY_FILES } from './chrony-files.ts';
import { Install, type InstallOptions, type InstallResult } from './install.ts';
import { TIMING } from './timing.ts';

export interface DeletedConfigOptions extends InstallOptions {
  /** A client with the rights of the clean-up job. */
  readonly cleanUpApi: KubeApi;
}

/** An install in which a job deletes a config in use. */
export async function replayDeletedConfig(options: DeletedConfigOptions): Promise<InstallResult> {
  const install = new Install(options);
  const { simulation } = install;
  const { clock } = simulation;
  clock.start(async () => {
    await clock.sleepUntil(TIMING.bootstrapRendersAt);
    await simulation.createPool();
    const first = renderMachineConfig(CHRONY_FILES.bootstrap, simulation.pool.uid);
    await simulation.rollOut(first);
    simulation.record('bootstrap', `renders ${first.metadata.name} for pool ${MASTER_POOL}`);
    await install.joinFirstMasters(first);
  });
  clock.start(async () => {
    await clock.sleepUntil(TIMING.operatorRendersAt);
    const second = renderMachineConfig(CHRONY_FILES.cluster, simulation.pool.uid);
    await simulation.rollOut(second);
    startOperator(simulation);
    simulation.record('operator', `new MachineConfig: pool ${MASTER_POOL} -> ${second.metadata.name}`);
  });
  clock.start(async () => await runCleanUp(simulation, options.cleanUpApi));
  return await install.run();
}
