import { expectStatus, statusOf, type KubeClient } from '../control-plane/kube-client.ts';
import { unique } from './cluster.ts';
import { machineConfig, node, nodeConfigPatch, renderedName } from './objects.ts';
import { PATHS } from './paths.ts';

/** Where one worker writes and where it deletes: the same API server, or two on the same etcd. */
export interface Lane {
  readonly write: KubeClient;
  readonly delete: KubeClient;
}

export interface RaceOptions {
  /** One worker each, all at the same time. */
  readonly lanes: readonly Lane[];
  /** Of all workers together. */
  readonly rounds: number;
}

export interface RaceResult {
  readonly rounds: number;
  /** Configs that were deleted although a node named them, by an acknowledged write, before the deletion was sent. */
  readonly wronglyAllowed: number;
  /** How often each refusal was given, by its code: `MCG_IN_USE`, or the HTTP status where it has none. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Deletions of a config that the node has just left, which have to be allowed: how many were tried and how many were. */
  readonly freed: { readonly tried: number; readonly allowed: number };
  readonly seconds: number;
}

/** Every so many rounds, the opposite question is asked. */
const FREE_EVERY = 20;

/**
 * A node is moved back and forth between two configs. Each time, as soon as the API server has acknowledged the move,
 * the config that the node has moved to is deleted: whoever decides by what he knew a moment ago sees it unused.
 */
export async function race({ lanes, rounds }: RaceOptions): Promise<RaceResult> {
  const tally: Tally = { rounds: 0, wronglyAllowed: 0, refusals: {}, freed: { tried: 0, allowed: 0 } };
  const started = performance.now();
  const perLane = Math.ceil(rounds / lanes.length);
  await Promise.all(lanes.map((lane, index) => runLane(lane, index, perLane, tally)));
  return { ...tally, seconds: (performance.now() - started) / 1_000 };
}

interface Tally {
  rounds: number;
  wronglyAllowed: number;
  refusals: Record<string, number>;
  freed: { tried: number; allowed: number };
}

async function runLane(lane: Lane, index: number, rounds: number, tally: Tally): Promise<void> {
  const field = index % 2 === 0 ? 'currentConfig' : 'desiredConfig';
  const name = unique('racer');
  let [target, other] = [renderedName('race'), renderedName('race')];
  await create(lane, target);
  await create(lane, other);
  await lane.write.create(PATHS.nodes, node({ name, [field]: other }));

  for (let round = 1; round <= rounds; round += 1) {
    await lane.write.patch(`${PATHS.nodes}/${name}`, nodeConfigPatch({ [field]: target }));
    const response = await lane.delete.delete(`${PATHS.configs}/${target}`);
    tally.rounds += 1;
    if (response.status === 200) {
      tally.wronglyAllowed += 1;
      await create(lane, target);
    } else {
      const code = /MCG_\w+/.exec(statusOf(response).message ?? '')?.[0] ?? String(response.status);
      tally.refusals[code] = (tally.refusals[code] ?? 0) + 1;
    }

    if (round % FREE_EVERY === 0) {
      tally.freed.tried += 1;
      const freed = await lane.delete.delete(`${PATHS.configs}/${other}`);
      if (freed.status === 200 && (await lane.delete.find(`${PATHS.configs}/${other}`)) === undefined) {
        tally.freed.allowed += 1;
        await create(lane, other);
      }
    }
    [target, other] = [other, target];
  }
}

/** Answers once both API servers of the lane have it: a deletion at the other one must not find nothing there. */
async function create(lane: Lane, name: string): Promise<void> {
  await lane.write.create(PATHS.configs, machineConfig({ name }));
  const path = `${PATHS.configs}/${name}`;
  expectStatus(await lane.delete.request('GET', path), [200], `GET ${path}`);
}
