import { isDeepStrictEqual } from 'node:util';
import { listNodes, type NodeView, patchNode } from './nodes.ts';
import { computePoolStatus, getPoolConfig, getPoolStatus, writePoolStatus } from './pool.ts';
import type { Story } from './story.ts';
import { TIMING } from './timing.ts';

/**
 * Updates the nodes one at a time (maxUnavailable 1), and none while a node is not Ready, updating or Degraded
 * (machine-config-operator, pkg/controller/node).
 */
export async function runNodeController(story: Story): Promise<void> {
  const { cluster, clock } = story;
  const unavailable = (): NodeView[] =>
    listNodes(cluster).filter((node) => !node.ready || node.state !== 'Done' || node.current !== node.desired);
  const outdated = (): NodeView[] => listNodes(cluster).filter(({ desired }) => desired !== getPoolConfig(cluster));
  await clock.sleepUntil(TIMING.newMachineConfigAt);
  for (;;) {
    await clock.waitFor(() => story.isApiUp && outdated().length > 0 && unavailable().every(isDegraded));
    await clock.sleep(TIMING.operatorReacts);
    // During that second the API can have stopped, or a node can have become unavailable.
    if (!story.isApiUp) continue;
    const degraded = unavailable().find(isDegraded);
    if (degraded !== undefined) {
      story.record('operator', `${degraded.name} is Degraded: its daemon cannot update it`);
      await clock.waitFor(() => !unavailable().some(isDegraded));
      continue;
    }
    const [next] = outdated();
    if (next === undefined || unavailable().length > 0) continue;
    const config = getPoolConfig(cluster);
    patchNode(cluster, next.name, { desired: config });
    story.record('operator', `${next.name} is next: desired -> ${config}`);
  }
}

export async function runPoolStatusController(story: Story): Promise<void> {
  const { cluster, clock } = story;
  await clock.sleepUntil(TIMING.newMachineConfigAt);
  for (;;) {
    await clock.waitFor(() => story.isApiUp && !isDeepStrictEqual(getPoolStatus(cluster), computePoolStatus(cluster)));
    writePoolStatus(cluster, computePoolStatus(cluster));
  }
}

function isDegraded({ state }: NodeView): boolean {
  return state === 'Degraded';
}
