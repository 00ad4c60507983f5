import { isDeepStrictEqual } from 'node:util';
import { listNodes, type NodeView, patchNode } from './nodes.ts';
import { computePoolStatus, getPoolConfig, getPoolStatus, writePoolStatus } from './pool.ts';
import type { Story } from './story.ts';
import { TIMING } from './timing.ts';

/** Updates one node at a time: maxUnavailable is 1 (machine-config-operator, pkg/controller/node). */
export async function runNodeController(story: Story): Promise<void> {
  const { cluster, clock } = story;
  const listUnavailable = (): NodeView[] =>
    listNodes(cluster).filter((node) => !node.ready || node.state !== 'Done' || node.current !== node.desired);
  const listOutdated = (): NodeView[] =>
    listNodes(cluster).filter(({ desired }) => desired !== getPoolConfig(cluster));
  await clock.sleepUntil(TIMING.newMachineConfigAt);
  for (;;) {
    await clock.waitFor(
      () => story.isApiUp && listOutdated().length > 0 && listUnavailable().every(isDegraded),
    );
    await clock.sleep(TIMING.operatorReacts);
    // During the sleep the API can stop and nodes can become unavailable.
    if (!story.isApiUp) continue;
    const degraded = listUnavailable().find(isDegraded);
    if (degraded !== undefined) {
      story.record('operator', `${degraded.name} is Degraded: its daemon cannot update it`);
      await clock.waitFor(() => !listUnavailable().some(isDegraded));
      continue;
    }
    const [next] = listOutdated();
    if (next === undefined || listUnavailable().length > 0) continue;
    const config = getPoolConfig(cluster);
    patchNode(cluster, next.name, { desired: config });
    story.record('operator', `${next.name} is next: desired -> ${config}`);
  }
}

export async function runPoolStatusController(story: Story): Promise<void> {
  const { cluster, clock } = story;
  await clock.sleepUntil(TIMING.newMachineConfigAt);
  for (;;) {
    await clock.waitFor(
      () => story.isApiUp && !isDeepStrictEqual(getPoolStatus(cluster), computePoolStatus(cluster)),
    );
    writePoolStatus(cluster, computePoolStatus(cluster));
  }
}

function isDegraded({ state }: NodeView): boolean {
  return state === 'Degraded';
}
