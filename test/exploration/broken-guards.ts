import { type ClusterState, type PoolReferrer, REASON_FIELD, type Referrer } from '../../src/decision/references.ts';
import type { ApiObject } from '../../src/kube/api-object.ts';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { listResource } from '../../src/kube/lists/list.ts';
import type { Resource } from '../../src/kube/resource.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { BUILDS, NODES, POOLS } from '../../src/references/sources.ts';
import { type Bound, HOLD_MS } from './bounds.ts';
import type { BrokenGuard, ObservedIndex } from './explored-guard.ts';
import { LONG_AGO } from './two-config-cluster.ts';

function readWith(createRead: (api: KubeApi, index: ObservedIndex) => LiveReader['read']): BrokenGuard {
  return { createReader: (api, index) => ({ read: createRead(api, index) }) };
}

const decideFromIndex = readWith((_api, index) => async () => {
  return await Promise.resolve({ referrers: index.referrers(), unreadable: [], readAt: new Date() });
});

const neverAnswer = readWith(() => async () => await new Promise(() => {}));

/** Without the second list of pools and builds. */
function listOnce(resources: readonly Resource<Referrer>[]): BrokenGuard {
  return readWith((api) => async (_config, signal) => {
    const referrers: Referrer[] = [];
    for (const resource of resources) {
      const add = (object: ApiObject): void => void referrers.push(resource.parse(object));
      // No bound of this guard has faults. Only the end of a schedule aborts a list.
      await listResource(api, resource, add, signal).catch(() => undefined);
    }
    return { referrers, unreadable: [], readAt: new Date() };
  });
}

const acceptOldLists: BrokenGuard = {
  createReader: (api) => new LiveReader({ api, versions: { newestVersion: () => undefined, checkVersions: () => {} } }),
};

const joinRunningRead = readWith((api, versions) => {
  const reader = new LiveReader({ api, versions });
  let running: Promise<ClusterState> | undefined;
  return async (config, signal) => {
    running ??= reader.read(config, signal).finally(() => {
      running = undefined;
    });
    return await running;
  };
});

const repeatGets: BrokenGuard = {
  wrapApi: (api) => {
    const answers = new Map<string, Promise<unknown>>();
    const json = async (request: ApiRequest): Promise<unknown> => {
      const answer = answers.get(request.path) ?? api.json(request);
      answers.set(request.path, answer);
      return await answer;
    };
    return { json, request: api.request.bind(api) } as unknown as KubeApi;
  },
};

/** The real reader, whose result is changed before the decision. */
function changeState(change: (state: ClusterState) => Partial<ClusterState>): BrokenGuard {
  return readWith((api, versions) => {
    const reader = new LiveReader({ api, versions });
    return async (config, signal) => {
      const state = await reader.read(config, signal);
      return { ...state, ...change(state) };
    };
  });
}

function changePools(change: (pool: PoolReferrer) => PoolReferrer): BrokenGuard {
  return changeState(({ referrers }) => ({
    referrers: referrers.map((referrer) => (referrer.kind === 'MachineConfigPool' ? change(referrer) : referrer)),
  }));
}

const ignoreReason = changeState(({ referrers }) => ({
  referrers: referrers.map((referrer): Referrer => {
    return { ...referrer, references: referrer.references.filter(({ field }) => field !== REASON_FIELD) };
  }),
}));
const denyAlways = changeState(() => ({ referrers: [], unreadable: [{ name: 'nodes', reason: 'broken' }] }));
const ignoreUnreadable = changeState(() => ({ unreadable: [] }));
const ignoreHold = changeState(() => ({ readAt: new Date(8e15) }));
const ignoreTimes = changePools(({ kind, name, references }) => ({ kind, name, references }));
const ignoreRollBack = changePools((pool) => ({ ...pool, specChangedAt: LONG_AGO }));

/** They are small, because breadth-first search takes longer, and are parts of the bounds of `npm test`. */
const ONE_WRITE: Bound = { starts: [[]], writers: ['node-1'], writes: 1, deliveries: 1, deletions: 1 };
const THREE_WRITES: Bound = { starts: [[]], writers: ['node-1', 'infra'], writes: 3, deletions: 1 };
const ONE_FAULT: Bound = { ...ONE_WRITE, faults: 1 };
const TWO_DELETIONS: Bound = { ...ONE_WRITE, deletions: 2 };
const HOLD: Bound = { ...ONE_WRITE, writers: ['worker'], writes: 2, deliveries: 2, holdMs: HOLD_MS };

const IN_USE = 'A was in use the whole time';
const HELD = 'a pool named A within the hold';

/** What the guard does, the guard, the bound within which it is found, and a part of the violation. */
export const BROKEN_GUARDS: readonly (readonly [string, BrokenGuard, Bound, string])[] = [
  ['decides from the index alone', decideFromIndex, ONE_WRITE, IN_USE],
  ['lists each kind once, nodes first', listOnce([NODES, POOLS, BUILDS]), THREE_WRITES, IN_USE],
  ['lists each kind once, nodes last', listOnce([POOLS, BUILDS, NODES]), THREE_WRITES, IN_USE],
  ['accepts a list that is older than its index', acceptOldLists, ONE_FAULT, IN_USE],
  ['ignores the reason of a Degraded node', ignoreReason, { ...ONE_WRITE, writers: ['node-2'] }, IN_USE],
  ['ignores a kind that it cannot read', ignoreUnreadable, ONE_FAULT, IN_USE],
  ['lets a review join a running live read', joinRunningRead, TWO_DELETIONS, IN_USE],
  ['confirms a reference with an older GET', repeatGets, { ...TWO_DELETIONS, starts: [['node-1']] }, 'A was unused'],
  ['denies every deletion', denyAlways, ONE_WRITE, 'nothing failed'],
  ['never answers', neverAnswer, ONE_WRITE, 'no answer'],
  ['has no hold', ignoreHold, { ...HOLD, starts: [['worker']] }, HELD],
  ['dates the hold by the creation of configs alone', ignoreTimes, { ...HOLD, starts: [['worker']] }, HELD],
  ['ignores a roll-back', ignoreRollBack, HOLD, HELD],
];
