import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { StatusError } from '../cluster/status-error.ts';
import { listNodes } from './nodes.ts';
import { getPoolConfig, getPoolStatus } from './pool.ts';
import type { Story } from './story.ts';
import { TIMING } from './timing.ts';

const USER = 'system:serviceaccount:cluster-cleanup:rendered-config-cleanup';
/** Ends the story even if the guard denies every deletion. */
const MAX_RUNS = 4;

/**
 * A job that deletes the rendered configs that no pool references, and ignores the nodes. The Machine Config
 * Operator deletes none (pkg/controller/render, garbageCollectRenderedConfigs).
 */
export async function runCleanUp(story: Story): Promise<void> {
  const { clock } = story;
  for (let run = 0; run < MAX_RUNS; run += 1) {
    await clock.sleepUntil(TIMING.cleanUpAt + run * TIMING.cleanUpEvery);
    await clock.waitFor(() => story.isApiUp);
    if (await deleteConfigsWithoutPool(story)) return;
  }
}

async function deleteConfigsWithoutPool(story: Story): Promise<boolean> {
  const { cluster, clock } = story;
  const poolConfigs = new Set([getPoolConfig(cluster), getPoolStatus(cluster).configuration]);
  const names = cluster.list('machineconfigs').map(({ metadata }) => metadata.name);
  let areAllAllowed = true;
  for (const name of names.filter((config) => config.startsWith('rendered-') && !poolConfigs.has(config))) {
    try {
      await clock.pauseDuring(cluster.requestDeletion('machineconfigs', name, { user: USER }));
      story.record('clean-up', `deletes ${name}, ${describeUse(cluster, name)}`);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      areAllAllowed = false;
      const { code, reason, message } = error;
      story.record('clean-up', `tries to delete ${name}: denied`, { code, reason, message });
    }
  }
  return areAllAllowed;
}

/** For the reader. The job does not check nodes. */
function describeUse(cluster: InMemoryCluster, config: string): string {
  const nodes = listNodes(cluster).filter(({ current, desired }) => current === config || desired === config);
  const names = nodes.map(({ name }) => name).join(', ');
  return names === '' ? 'which no node uses any more' : `although ${names} runs it`;
}
