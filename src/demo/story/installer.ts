import { joinMaster, nodes } from './node-view.ts';
import { poolConfig, poolStatus } from './pool-view.ts';
import type { Scene } from './scene.ts';
import { TIMING } from './timing.ts';
import { HOSTS } from './hosts.ts';

/** The bootstrap has done its part once so many other masters are Ready. */
const READY_MASTERS = 2;

/**
 * The installer on control0: waits for two Ready masters, reboots its own host into the third one, and waits for the pool.
 *
 * @returns when the install is complete; never, if it is not to be
 */
export async function installer(scene: Scene, joined: (name: string) => void): Promise<void> {
  const { clock, sandbox } = scene;
  const [self] = HOSTS;
  await clock.at(TIMING.bootstrapCompleteAt);
  await clock.until(() => nodes(sandbox).filter(({ ready }) => ready).length >= READY_MASTERS);
  // Ready is about kubelets: it does not mean that the configs which the nodes name exist.
  scene.say('installer', `sees ${READY_MASTERS} Ready masters, bootstrap done: reboots ${self}`);
  scene.say('etcd', 'loses its quorum for a while; the API does not answer');
  await scene.apiAwayFor(TIMING.apiAway);
  scene.say('etcd', 'has a quorum again; the API answers');
  await clock.sleep(TIMING.bootstrapHostJoins - TIMING.apiAway);
  const config = poolConfig(sandbox);
  joinMaster(sandbox, self, config);
  joined(self);
  scene.say('hosts', `${self} joins, running ${config}`);
  await clock.until(() => isComplete(scene));
  scene.say('install', `complete: all ${HOSTS.length} masters run ${config}`);
}

/** Does every host run the config of the pool? */
function isComplete({ sandbox }: Scene): boolean {
  const { configuration, updatedMachineCount, degradedMachineCount } = poolStatus(sandbox);
  const allUpdated = updatedMachineCount === HOSTS.length && degradedMachineCount === 0;
  return allUpdated && configuration === poolConfig(sandbox);
}
