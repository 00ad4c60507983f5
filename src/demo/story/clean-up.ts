import { kindOf } from '../cluster/kinds.ts';
import { pathOf } from '../cluster/target.ts';
import { nodes } from './node-view.ts';
import { poolConfig, poolStatus } from './pool-view.ts';
import type { Scene } from './scene.ts';
import { TIMING } from './timing.ts';

/** The clean-up's identity in the cluster. */
const USER = 'system:serviceaccount:cluster-cleanup:rendered-config-cleanup';
/** It gives up in the end, so that a guard that never lets go shows as what it is. */
const RUNS_MAX = 4;

/**
 * A clean-up job that deletes the rendered configs which no pool names, and never asks the nodes. The Machine Config
 * Operator itself deletes none (pkg/controller/render, garbageCollectRenderedConfigs); jobs and scripts like this one do.
 */
export async function cleanUp(scene: Scene): Promise<void> {
  const { clock } = scene;
  for (let run = 0; run < RUNS_MAX; run += 1) {
    await clock.at(TIMING.cleanUpAt + run * TIMING.cleanUpEvery);
    await clock.until(() => scene.apiAnswers);
    const refused = await deleteUnnamed(scene);
    if (!refused) return;
  }
}

/** One run. Answers whether something was refused. */
async function deleteUnnamed(scene: Scene): Promise<boolean> {
  const { clock, sandbox } = scene;
  const named = new Set([poolConfig(sandbox), poolStatus(sandbox).configuration]);
  const unnamed = sandbox
    .list('machineconfigs')
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('rendered-') && !named.has(name));
  let refused = false;
  for (const name of unnamed) {
    const path = pathOf(kindOf('machineconfigs'), name);
    const { status, body } = await clock.outside(sandbox.request('DELETE', path, undefined, { as: USER }));
    if (status < 300) {
      scene.say('clean-up', `deletes ${name}, ${whatItDoesNotKnow(scene, name)}`);
    } else {
      refused = true;
      scene.say('clean-up', `tries to delete ${name}: refused`, {
        code: status,
        reason: body.reason ?? '',
        message: body.message ?? '',
      });
    }
  }
  return refused;
}

/** For the reader of the story: the job itself only looks at pools. */
function whatItDoesNotKnow({ sandbox }: Scene, config: string): string {
  const users = nodes(sandbox).filter(({ current, desired }) => current === config || desired === config);
  const names = users.map(({ name }) => name).join(', ');
  return names === '' ? 'which nothing uses any more' : `unaware that ${names} runs it`;
}
