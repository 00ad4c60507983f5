import { getNode, patchNode } from './nodes.ts';
import type { Story } from './story.ts';
import { TIMING } from './timing.ts';

/**
 * Gets the current and the desired config after a change of the node and after a reconnect. If one is
 * missing, the node is Degraded (machine-config-operator, pkg/daemon/daemon.go).
 */
export async function runMachineConfigDaemon(story: Story, name: string): Promise<void> {
  const { cluster, clock } = story;
  const needsUpdate = (): boolean => {
    const { current, desired, state } = getNode(cluster, name);
    return state === 'Done' && current !== desired;
  };
  const exists = (config: string): boolean => cluster.get('machineconfigs', config) !== undefined;
  let { outageCount } = story;
  for (;;) {
    await clock.waitFor(() => story.isApiUp && (needsUpdate() || story.outageCount !== outageCount));
    ({ outageCount } = story);
    const { current, desired } = getNode(cluster, name);
    const missing = [current, desired].find((config) => !exists(config));
    if (missing !== undefined) {
      const reason = `missing MachineConfig ${missing}`;
      patchNode(cluster, name, { state: 'Degraded', reason });
      story.record('daemon', `${name} is Degraded: ${reason}`);
      await clock.waitFor(() => exists(missing));
      patchNode(cluster, name, { state: 'Done', reason: '' });
      story.record('daemon', `${name} is no longer Degraded`);
    } else if (current !== desired) {
      await updateNode(story, name, desired);
    }
  }
}

async function updateNode(story: Story, name: string, config: string): Promise<void> {
  const { cluster, clock } = story;
  await clock.sleep(TIMING.daemonReacts);
  patchNode(cluster, name, { state: 'Working' });
  story.record('daemon', `${name} is Working: drains, writes ${config}`);
  await clock.sleep(TIMING.nodeUpdates);
  patchNode(cluster, name, { state: 'Rebooting', ready: false });
  story.record('daemon', `${name} reboots`);
  await clock.sleep(TIMING.nodeReboots);
  await clock.waitFor(() => story.isApiUp);
  patchNode(cluster, name, { current: config, state: 'Done' });
  story.record('daemon', `${name} is back, Done, running ${config}`);
  await clock.sleep(TIMING.nodeBecomesReady);
  await clock.waitFor(() => story.isApiUp);
  patchNode(cluster, name, { ready: true });
}
