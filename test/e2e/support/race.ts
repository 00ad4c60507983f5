import { expectStatus, statusOf, type KubeClient } from '../control-plane/kube-client.ts';
import { unique } from './cluster.ts';
import { machineConfig, node, nodeConfigPatch, renderedName } from './objects.ts';
import { PATHS } from './paths.ts';

/** The API servers at which one worker writes and deletes: the same one, or two on the same etcd. */
interface Lane {
  readonly write: KubeClient;
  readonly delete: KubeClient;
}

interface Tally {
  rounds: number;
  /** Deleted configs that a node named because of an acknowledged write. */
  wronglyAllowed: number;
  /** The number of denials by code or, without a code, by HTTP status. */
  refusals: Record<string, number>;
  /** Deletions of the config that the node has just left. The guard must allow them. */
  freed: { tried: number; allowed: number };
}

/** Every 20th round also deletes the config that the node has left. */
const FREE_EVERY = 20;

/**
 * Moves a node back and forth between two configs. As soon as the API server has acknowledged a move, the
 * race deletes the config that the node moved to. A decision from stale data would allow it.
 *
 * @param options the lanes get one concurrent worker each, which share the rounds
 */
export async function race({ lanes, rounds }: { lanes: readonly Lane[]; rounds: number }) {
  const tally: Tally = { rounds: 0, wronglyAllowed: 0, refusals: {}, freed: { tried: 0, allowed: 0 } };
  const started = performance.now();
  const roundsPerLane = Math.ceil(rounds / lanes.length);
  await Promise.all(lanes.map((lane, index) => runLane(lane, index, roundsPerLane, tally)));
  return { ...tally, seconds: (performance.now() - started) / 1_000 };
}

async function runLane(lane: Lane, index: number, rounds: number, tally: Tally) {
  const field = index % 2 === 0 ? 'currentConfig' : 'desiredConfig';
  const name = unique('racer');
  let [target, other] = [renderedName('race'), renderedName('race')];
  await createConfig(lane, target);
  await createConfig(lane, other);
  await lane.write.create(PATHS.nodes, node({ name, [field]: other }));

  for (let round = 1; round <= rounds; round += 1) {
    await lane.write.patch(`${PATHS.nodes}/${name}`, nodeConfigPatch({ [field]: target }));
    const response = await lane.delete.delete(`${PATHS.configs}/${target}`);
    tally.rounds += 1;
    if (response.status === 200) {
      tally.wronglyAllowed += 1;
      await createConfig(lane, target);
    } else {
      const code = /MCG_\w+/.exec(statusOf(response).message ?? '')?.[0] ?? String(response.status);
      tally.refusals[code] = (tally.refusals[code] ?? 0) + 1;
    }

    if (round % FREE_EVERY === 0) {
      tally.freed.tried += 1;
      const freed = await lane.delete.delete(`${PATHS.configs}/${other}`);
      if (freed.status === 200 && (await lane.delete.find(`${PATHS.configs}/${other}`)) === undefined) {
        tally.freed.allowed += 1;
        await createConfig(lane, other);
      }
    }
    [target, other] = [other, target];
  }
}

/** Returns when both API servers have the config, so that a deletion never gets 404. */
async function createConfig(lane: Lane, name: string) {
  await lane.write.create(PATHS.configs, machineConfig({ name }));
  const path = `${PATHS.configs}/${name}`;
  expectStatus(await lane.delete.request('GET', path), [200], `GET ${path}`);
}
