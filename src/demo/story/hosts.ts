import { joinMaster } from './node-view.ts';
import { FIRST_CONFIG } from './rendering.ts';
import type { Scene } from './scene.ts';
import { TIMING } from './timing.ts';

/** The hosts of the incident. The first carries the bootstrap and reboots last. */
export const HOSTS = ['control0', 'control1', 'control2'] as const;

/** The machines boot, and all but the bootstrap join the cluster with the config that they were installed with. */
export async function hosts(scene: Scene, joined: (name: string) => void): Promise<void> {
  const { clock, sandbox } = scene;
  scene.say('hosts', `${HOSTS.join(', ')} boot; ${HOSTS[0]} carries the bootstrap`);
  await clock.at(TIMING.mastersJoinAt);
  const masters = HOSTS.slice(1);
  for (const name of masters) {
    joinMaster(sandbox, name, FIRST_CONFIG);
    joined(name);
  }
  scene.say('hosts', `${masters.join(' and ')} join, running ${FIRST_CONFIG}`);
}
