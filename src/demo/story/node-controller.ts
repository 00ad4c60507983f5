import { isDeepStrictEqual } from 'node:util';
import { changeNode, type NodeView, nodes } from './node-view.ts';
import { poolConfig, poolStatus, poolStatusFromNodes, writePoolStatus } from './pool-view.ts';
import type { Scene } from './scene.ts';
import { TIMING } from './timing.ts';

/**
 * Brings the nodes of the pool to its config, one at a time (maxUnavailable 1). A node that is not Ready, in the middle of
 * an update or Degraded is unavailable, and while one is, no other is touched; a Degraded one itself is not updated either
 * (machine-config-operator, pkg/controller/node).
 */
export async function nodeController(scene: Scene): Promise<void> {
  const { clock, sandbox } = scene;
  await clock.at(TIMING.newMachineConfigAt);
  for (;;) {
    await clock.until(() => scene.apiAnswers && outdated(scene).length > 0 && unavailable(scene).every(isDegraded));
    await clock.sleep(TIMING.operatorReacts);
    // The API may have gone away, or a node become unavailable, within that second.
    if (!scene.apiAnswers) continue;
    const degraded = unavailable(scene).find(isDegraded);
    if (degraded !== undefined) {
      scene.say('operator', `${degraded.name} is Degraded: a Degraded node is not updated`);
      await clock.until(() => !unavailable(scene).some(isDegraded));
      continue;
    }
    const [next] = outdated(scene);
    if (next === undefined || unavailable(scene).length > 0) continue;
    const config = poolConfig(sandbox);
    changeNode(sandbox, next.name, { desired: config });
    scene.say('operator', `${next.name} is next: desired -> ${config}`);
  }
}

/** Keeps the pool's status true. */
export async function poolStatusController(scene: Scene): Promise<void> {
  const { clock, sandbox } = scene;
  await clock.at(TIMING.newMachineConfigAt);
  for (;;) {
    await clock.until(() => scene.apiAnswers && !isDeepStrictEqual(poolStatus(sandbox), poolStatusFromNodes(sandbox)));
    writePoolStatus(sandbox, poolStatusFromNodes(sandbox));
  }
}

function outdated({ sandbox }: Scene): NodeView[] {
  const config = poolConfig(sandbox);
  return nodes(sandbox).filter(({ desired }) => desired !== config);
}

function unavailable({ sandbox }: Scene): NodeView[] {
  return nodes(sandbox).filter((node) => !node.ready || node.state !== 'Done' || node.current !== node.desired);
}

function isDegraded({ state }: NodeView): boolean {
  return state === 'Degraded';
}
