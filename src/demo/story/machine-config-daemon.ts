import { changeNode, node } from './node-view.ts';
import type { Scene } from './scene.ts';
import { TIMING } from './timing.ts';

/**
 * The daemon of one node. It gets the node's current and desired config from the API whenever it syncs: at a change of its
 * node and after it had to connect anew. One that is missing makes the node Degraded, whatever is on its disk
 * (machine-config-operator, pkg/daemon/daemon.go).
 */
export async function machineConfigDaemon(scene: Scene, name: string): Promise<void> {
  const { clock, sandbox } = scene;
  let connections = scene.connections;
  for (;;) {
    await clock.until(() => scene.apiAnswers && (wantsUpdate(scene, name) || scene.connections !== connections));
    connections = scene.connections;
    const { current, desired } = node(sandbox, name);
    const missing = [current, desired].find((config) => sandbox.get('machineconfigs', config) === undefined);
    if (missing !== undefined) {
      const reason = `missing MachineConfig ${missing}`;
      changeNode(sandbox, name, { state: 'Degraded', reason });
      scene.say('daemon', `${name} is Degraded: ${reason}`);
      await clock.until(() => sandbox.get('machineconfigs', missing) !== undefined);
      changeNode(sandbox, name, { state: 'Done', reason: '' });
      scene.say('daemon', `${name} is no longer Degraded`);
    } else if (current !== desired) {
      await update(scene, name, desired);
    }
  }
}

async function update(scene: Scene, name: string, config: string): Promise<void> {
  const { clock, sandbox } = scene;
  await clock.sleep(TIMING.daemonReacts);
  changeNode(sandbox, name, { state: 'Working' });
  scene.say('daemon', `${name} is Working: drains, writes ${config}`);
  await clock.sleep(TIMING.nodeUpdates);
  changeNode(sandbox, name, { state: 'Rebooting', ready: false });
  scene.say('daemon', `${name} reboots`);
  await clock.sleep(TIMING.nodeReboots);
  await clock.until(() => scene.apiAnswers);
  changeNode(sandbox, name, { current: config, state: 'Done' });
  scene.say('daemon', `${name} is back, Done, running ${config}`);
  await clock.sleep(TIMING.nodeBecomesReady);
  await clock.until(() => scene.apiAnswers);
  changeNode(sandbox, name, { ready: true });
}

function wantsUpdate({ sandbox }: Scene, name: string): boolean {
  const { current, desired, state } = node(sandbox, name);
  return state === 'Done' && current !== desired;
}
