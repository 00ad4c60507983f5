import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ClusterState, Referrer } from '../../src/decision/references.ts';
import type { ApiObject } from '../../src/kube/api-object.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { listResource } from '../../src/kube/lists/list.ts';
import { REFERRER_RESOURCES } from '../../src/references/sources.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { type CreateReader, Simulation, type SimulationResult } from './simulation.ts';

// Fake timers do not replace node:timers/promises.
vi.mock('node:timers/promises', () => ({ setImmediate: async () => await Promise.resolve() }));

const FIND_STEPS = 10_000;
/** `npm run simulate` sets both. */
const STEPS = Number(process.env['MCG_SIMULATION_STEPS'] ?? 30_000);
const SEEDS = (process.env['MCG_SIMULATION_SEEDS'] ?? '1,2,3,4').split(',').map(Number);

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance', 'Date'],
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test.each(SEEDS)('gives no wrong answer with seed %d', { timeout: 3_600_000 }, async (seed) => {
  const result = await new Simulation(seed).run(STEPS);
  console.log(JSON.stringify(result));

  expect(result.violation).toBeUndefined();
  // A run without deletions, crashes and denials proves little.
  const { allowed, deleted, crashes, MCG_IN_USE: denied, MCG_UNVERIFIED: unverified } = result.counts;
  expect(allowed).toBeGreaterThan(STEPS / 200);
  expect(deleted).toBeGreaterThan(STEPS / 500);
  expect(crashes).toBeGreaterThan(STEPS / 5_000);
  expect(denied).toBeGreaterThan(STEPS / 200);
  expect(unverified).toBeGreaterThan(STEPS / 1_000);
  expect(result.counts['MCG_HELD']).toBeGreaterThan(STEPS / 1_000);
  // Every change of the pool holds all its unused configs.
  expect(result.counts['allowed with a hold']).toBeGreaterThan(0);
});

async function listOnce(api: KubeApi, signal: AbortSignal): Promise<ClusterState> {
  const referrers: Referrer[] = [];
  try {
    for (const resource of REFERRER_RESOURCES) {
      const add = (object: ApiObject): void => void referrers.push(resource.parse(object));
      await listResource(api, resource, add, signal);
    }
    return { referrers, unreadable: [], readAt: new Date() };
  } catch {
    return { referrers, unreadable: [{ name: 'references', reason: 'a list failed' }] };
  }
}

/** @param firstSeed the one that found a violation when the test was written, because each takes a second */
async function findViolation(firstSeed: number, createReader: CreateReader): Promise<SimulationResult> {
  for (let seed = firstSeed; seed < firstSeed + 40; seed += 1) {
    const result = await new Simulation(seed, createReader).run(FIND_STEPS);
    if (result.violation !== undefined) return result;
  }
  throw new Error('no seed finds a violation');
}

type Configs = Parameters<CreateReader>[2];

/** The real reader, whose state is changed before the decision. */
function changeState(change: (state: ClusterState, configs: Configs) => ClusterState): CreateReader {
  return (api, versions, configs) => {
    const reader = new LiveReader({ api, versions });
    return { read: async (signal) => change(await reader.read(signal), configs) };
  };
}

/** The real reader, with other times of the pool. */
function changePool(toTimes: (pool: Referrer, configs: Configs) => Partial<Referrer>): CreateReader {
  return changeState((state, configs) => ({
    ...state,
    referrers: state.referrers.map((referrer) =>
      referrer.kind === 'MachineConfigPool' ? { ...referrer, ...toTimes(referrer, configs) } : referrer,
    ),
  }));
}

/** When the config in the spec of a pool was created. A roll-back to it changes nothing. */
function readCreation({ references }: Referrer, configs: Configs): Date {
  return configs.get(references[0]?.config ?? '') ?? new Date(0);
}

const WITHIN_HOLD = 'was allowed within the hold';
const NO_TIMES = { specChangedAt: undefined, statusChangedAt: undefined, updatedChangedAt: undefined };

test.each<readonly [string, string, number, CreateReader]>([
  [
    'trusts its index',
    'was allowed, and was in use the whole time',
    1,
    (_api, index) => ({
      read: async () => ({ referrers: [...index.referrers()], unreadable: [], readAt: new Date() }),
    }),
  ],
  [
    'lists each kind once',
    'was allowed, and was in use the whole time',
    5,
    (api) => ({ read: async (signal) => await listOnce(api, signal) }),
  ],
  [
    'denies every deletion',
    'is unused, and the answer is MCG_UNVERIFIED',
    1,
    () => ({ read: async () => ({ referrers: [], unreadable: [{ name: 'nodes', reason: 'broken' }] }) }),
  ],
  ['has no hold', WITHIN_HOLD, 1, changeState((state) => ({ ...state, readAt: new Date(8e15) }))],
  ['counts the hold from the creation of the configs that the pool names', WITHIN_HOLD, 1, changePool(() => NO_TIMES)],
  [
    'ignores a roll-back',
    WITHIN_HOLD,
    1,
    changePool((pool, configs) => ({ specChangedAt: readCreation(pool, configs) })),
  ],
])('finds a guard that %s, and the seed repeats the run', async (_title, message, firstSeed, createReader) => {
  const result = await findViolation(firstSeed, createReader);
  expect(result.violation?.message).toContain(message);
  expect(await new Simulation(result.seed, createReader).run(FIND_STEPS)).toEqual(result);
});
