import { Readable } from 'node:stream';
import { toClusterState } from '../support/cluster-state.ts';
import type { PoolReferrer, Referrer } from '../../src/mco/referrer.ts';
import type { ApiObject } from '../../src/kube/api-object.ts';
import type { ApiResponse, KubeApi } from '../../src/kube/api.ts';
import { listResource } from '../../src/kube/lists/list.ts';
import type { LiveReader } from '../../src/references/live-reader.ts';
import { type Bound, HOLD_MS } from './bounds.ts';
import type { BrokenGuard, GuardParts } from './explored-guard.ts';
import { CONFIG_A, LONG_AGO } from './two-config-cluster.ts';
import { BUILDS, NODES, POOLS } from '../../src/mco/resources.ts';
import type { ClusterState } from '../../src/references/cluster-state.ts';

function readWith(createRead: (parts: GuardParts, api: KubeApi) => LiveReader['read']): BrokenGuard {
  return (parts, api) => {
    parts.live.read = createRead(parts, api);
  };
}

const decideFromIndex = readWith(({ index }) => async (config) => {
  const { references } = toClusterState(config, []);
  const strong = index.find(config)?.summarize() ?? references.strong;
  const state = toClusterState(config, [...index.listPools(), ...index.listUnreportedNodes()]);
  return await Promise.resolve({ ...state, references: { ...references, strong } });
});

const neverAnswer = readWith(() => async () => await new Promise(() => {}));

/** Without the second list of pools and builds. */
const listOnce = readWith((_parts, api) => async (config, signal) => {
  const referrers: Referrer[] = [];
  for (const resource of [NODES, POOLS, BUILDS]) {
    const add = (object: ApiObject): void => void referrers.push(resource.parse(object));
    // No bound of this guard has faults. Only the end of a schedule aborts a list.
    await listResource(api, resource, add, signal).catch(() => undefined);
  }
  return toClusterState(config, referrers);
});

/** As if the API server sent the head of a list before it has read the list. */
const expectEarlyHeads: BrokenGuard = (_parts, api) => {
  const request = api.request.bind(api);
  api.request = async (sent) => {
    if (!sent.path.startsWith(NODES.paths[0])) return await request(sent);
    const answer = request(sent);
    const body = Readable.from(
      (async function* read() {
        yield* (await answer).body;
      })(),
    );
    return await Promise.resolve({ headers: {}, body: body as ApiResponse['body'] });
  };
};

const acceptOldLists: BrokenGuard = ({ index }) => {
  index.newestVersion = () => undefined;
};

const joinRunningRead = readWith(({ live }) => {
  const read = live.read.bind(live);
  let running: Promise<ClusterState> | undefined;
  return async (config, signal) => {
    running ??= read(config, signal).finally(() => {
      running = undefined;
    });
    return await running;
  };
});

const repeatGets: BrokenGuard = (_parts, api) => {
  const answers = new Map<string, Promise<unknown>>();
  const json = api.json.bind(api);
  api.json = async (request) => {
    const answer = answers.get(request.path) ?? json(request);
    answers.set(request.path, answer);
    return await answer;
  };
};

/** The real reader, whose result is changed before the decision. */
function changeState(change: (state: ClusterState) => Partial<ClusterState>): BrokenGuard {
  return readWith(({ live }) => {
    const read = live.read.bind(live);
    return async (config, signal) => {
      const state = await read(config, signal);
      return { ...state, ...change(state) };
    };
  });
}

const denyAlways = changeState((state) => {
  const { references } = toClusterState(CONFIG_A.name, []);
  return { ...state, references, unreadable: [{ name: 'nodes', reason: 'broken' }] };
});
const ignoreUnreadable = changeState(() => ({ unreadable: [] }));
const ignoreHold = changeState(() => ({ pools: [] }));
type FindLastUse = NonNullable<GuardParts['history']['findLastUse']>;

/** Changes what the guard remembers of the pools. */
function changeMemory(change: (find: FindLastUse, parts: GuardParts) => FindLastUse): BrokenGuard {
  return (parts) => {
    const { findLastUse = () => undefined } = parts.history;
    Object.assign(parts.history, { findLastUse: change(findLastUse, parts) });
  };
}

const forgetPools = changeMemory(() => () => undefined);
const forgetNamings = changeMemory((find) => (...args) => {
  const lastUse = find(...args);
  return lastUse?.isSeen === true ? { at: LONG_AGO, isSeen: false } : lastUse;
});
const forgetStart = changeMemory((find) => (...args) => {
  const lastUse = find(...args);
  return lastUse?.isSeen === false ? { at: LONG_AGO, isSeen: false } : lastUse;
});
/** As if the watch had delivered every version. */
const ignoreGaps: BrokenGuard = ({ index: { pools } }) => {
  const update = pools.update.bind(pools);
  pools.update = (before, after) => update(before, after, 'watch');
};
/** As if an event with a pool that it cannot read had changed nothing. */
const skipMalformed: BrokenGuard = ({ index }) => {
  const reflector = index.reflectors.find(({ resource }) => resource.name === POOLS.name);
  const parse = (object: ApiObject): PoolReferrer => {
    const known = index.listPools().find(({ name }) => name === object.metadata?.name);
    try {
      return POOLS.parse(object);
    } catch (error) {
      if (known === undefined) throw error;
      return known;
    }
  };
  Object.assign(reflector ?? {}, { resource: { ...POOLS, parse } });
};

/** They are parts of the bounds of `npm test`. */
const ONE_WRITE: Bound = { starts: [[]], writers: ['node-1'], writes: 1, deliveries: 1, deletions: 1 };
const THREE_WRITES: Bound = { starts: [[]], writers: ['node-1', 'infra'], writes: 3, deletions: 1 };
const ONE_FAULT: Bound = { ...ONE_WRITE, faults: 1 };
const TWO_DELETIONS: Bound = { ...ONE_WRITE, deliveries: 0, deletions: 2 };
const HOLD: Bound = { ...ONE_WRITE, writers: ['worker'], writes: 2, deliveries: 2, holdMs: HOLD_MS };

const MEMORY: Bound = { ...HOLD, watchedMs: HOLD_MS + 2_000 };
const RELIST: Bound = { ...MEMORY, deliveries: 0, relists: 1 };
const MALFORMED: Bound = { ...MEMORY, deliveries: 1, malformed: 1 };
const RESTART: Bound = { ...MEMORY, starts: [['worker']], deliveries: 0, restarts: 1 };

const IN_USE = 'A was in use the whole time';
const HELD = 'a pool named A within the hold';

/** What the guard does, the guard, the bound within which it is found, and a part of the violation. */
export const BROKEN_GUARDS: readonly (readonly [string, BrokenGuard, Bound, string])[] = [
  ['decides from the index alone', decideFromIndex, ONE_WRITE, IN_USE],
  ['lists each kind once', listOnce, THREE_WRITES, IN_USE],
  ['lists the pools before the API server has read the nodes', expectEarlyHeads, THREE_WRITES, IN_USE],
  ['accepts a list that is older than its index', acceptOldLists, ONE_FAULT, IN_USE],
  ['ignores a kind that it cannot read', ignoreUnreadable, ONE_FAULT, IN_USE],
  ['lets a review join a running live read', joinRunningRead, TWO_DELETIONS, IN_USE],
  ['confirms a reference with an older GET', repeatGets, { ...TWO_DELETIONS, starts: [['node-1']] }, 'A was unused'],
  ['denies every deletion', denyAlways, ONE_WRITE, 'nothing failed'],
  ['never answers', neverAnswer, ONE_WRITE, 'no answer'],
  ['has no hold', ignoreHold, { ...HOLD, starts: [['worker']] }, HELD],
  ['forgets what it has seen', forgetPools, { ...MEMORY, writes: 1 }, 'the guard has seen that no pool'],
  ['forgets which configs a pool has named', forgetNamings, MEMORY, HELD],
  ['believes after a restart that it has always watched', forgetStart, RESTART, HELD],
  ['believes after a list that it has missed nothing', ignoreGaps, RELIST, HELD],
  ['skips an event with a malformed object', skipMalformed, MALFORMED, HELD],
];
