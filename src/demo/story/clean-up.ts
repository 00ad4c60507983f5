import { MACHINE_CONFIGS_PATH, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError } from '../../kube/errors.ts';
import type { Simulation } from '../operator/simulation.ts';
import { TIMING } from './timing.ts';

/** Ends the story even if the guard denies every deletion. */
const MAX_RUNS = 4;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * A job that deletes the rendered configs that no pool references, and ignores the nodes. The Machine Config
 * Operator deletes none (pkg/controller/render, garbageCollectRenderedConfigs).
 */
export async function runCleanUp(simulation: Simulation, api: KubeApi): Promise<void> {
  const { clock } = simulation;
  for (let run = 0; run < MAX_RUNS; run += 1) {
    await clock.sleepUntil(TIMING.cleanUpAt + run * TIMING.cleanUpEvery);
    await clock.waitFor(() => simulation.isApiUp);
    if (await deleteConfigsWithoutPool(simulation, api)) return;
  }
}

async function deleteConfigsWithoutPool(simulation: Simulation, api: KubeApi): Promise<boolean> {
  const { config, status } = simulation.pool;
  const poolConfigs = new Set([config, status.configuration]);
  let areAllAllowed = true;
  for (const name of simulation.configs.filter((config) => !poolConfigs.has(config))) {
    try {
      await simulation.clock.pauseDuring(deleteConfig(api, name));
      simulation.record('clean-up', `deletes ${name}, ${describeUse(simulation, name)}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      areAllAllowed = false;
      const { status: code, reason, message } = error;
      simulation.record('clean-up', `tries to delete ${name}: denied`, { code, reason, message });
    }
    await simulation.refresh();
  }
  return areAllAllowed;
}

async function deleteConfig(api: KubeApi, name: string): Promise<void> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  await api.json({ method: 'DELETE', path: objectPath(MACHINE_CONFIGS_PATH, name), signal });
}

/** For the reader. The job does not check nodes. */
function describeUse(simulation: Simulation, config: string): string {
  const nodes = simulation.nodes.filter(({ current, desired }) => current === config || desired === config);
  const names = nodes.map(({ name }) => name).join(', ');
  return names === '' ? 'which no node uses any more' : `although ${names} runs it`;
}
