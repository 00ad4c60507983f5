import { type MachineConfig, renderMachineConfig } from '../operator/machine-config.ts';
import { startOperator } from '../operator/node-controller.ts';
import { MASTER_POOL } from '../operator/pool.ts';
import { CHRONY_FILES } from './chrony-files.ts';
import { Install, type InstallOptions } from './install.ts';
import { TIMING } from './timing.ts';

/** The config that the bootstrap renders, and that is never in the API. */
export const MISSING_CONFIG: MachineConfig = renderMachineConfig(CHRONY_FILES.bootstrap);

/** An install in which the masters run a config that was never in the API. It ends in a deadlock. */
export function startMissingConfigInstall(options: InstallOptions): Install {
  // Without the third etcd member no master can be drained, so the operator cannot recover alone.
  const install = new Install({ ...options, minMastersToDrain: 3 });
  const { simulation } = install;
  const { clock } = simulation;
  clock.start(async () => {
    await clock.sleepUntil(TIMING.bootstrapRendersAt);
    const { name } = MISSING_CONFIG.metadata;
    simulation.record('bootstrap', `renders ${name} on the disk of control0, not in the API`);
    await install.joinFirstMasters(MISSING_CONFIG);
  });
  clock.start(async () => {
    await clock.sleepUntil(TIMING.operatorRendersAt);
    await simulation.createPool();
    const rendered = renderMachineConfig(CHRONY_FILES.cluster, simulation.pool.uid);
    await simulation.rollOut(rendered);
    startOperator(simulation);
    const { name } = rendered.metadata;
    simulation.record('operator', `renders other content: pool ${MASTER_POOL} -> ${name}`);
  });
  return install;
}
