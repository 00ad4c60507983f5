import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { LiveReader } from '../../src/references/live-reader.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { type ClusterState, summarizeReferences } from '../../src/decision/references.ts';
import {
  ALPHA_BUILDS,
  type Asked,
  BUILDS,
  directory,
  fail,
  fakeApi,
  type Handler,
  list,
  node,
  NODES,
  notServed,
  pool,
  POOLS,
  send,
} from '../support/fake-api.ts';

const CONFIG = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const ONE_NODE = list([node('w0', CONFIG)]);

/** Nodes, pools and builds as most tests need them; one kind is exchanged. */
function cluster(special: (asked: Asked, response: ServerResponse) => boolean | void): Handler {
  return (asked, response) => {
    if (special(asked, response) === true || directory(asked, response, [POOLS])) return;
    if (asked.path === NODES) send(response, list([]));
    else if (asked.path === POOLS) send(response, list([pool('worker', 'rendered-worker-other')]));
    else notServed(response);
  };
}

/** Pools are another version at each of the first lists, so many; `changed` is called with each. */
async function poolsThatChange(times: number, changed: (version: number) => void = () => {}) {
  let version = 0;
  const { api } = await fakeApi(
    cluster((asked, response) => {
      if (asked.path !== POOLS) return false;
      version = Math.min(version + 1, times);
      changed(version);
      send(response, list([pool('worker', 'rendered-worker-other', String(version))]));
      return true;
    }),
  );
  return { api };
}

const soon = (ms = 2_000): AbortSignal => AbortSignal.timeout(ms);

function users(references: ClusterState): string[] {
  return summarizeReferences(CONFIG, references.referrers).strong.references.map(
    ({ kind, name, field }) => `${kind} ${name} ${field}`,
  );
}

describe('what is asked', () => {
  test('whole, consistent lists, pools and builds before and after the nodes: no version, no page, no compression; nodes as metadata only', async () => {
    const { api, asked } = await fakeApi(cluster(() => {}));
    await new LiveReader({ api }).read(soon());
    const lists = asked.filter(({ path }) => path.endsWith('s') && path.split('/').length > 3);
    const queries = lists.map(({ path, query }) => `${path}?${query.toString()}`);
    expect(new Set(queries)).toEqual(new Set([NODES, POOLS, BUILDS, ALPHA_BUILDS].map((path) => `${path}?`)));
    const place = (path: string, which: 'indexOf' | 'lastIndexOf') => lists.map((one) => one.path)[which](path);
    for (const holders of [POOLS, BUILDS, ALPHA_BUILDS]) {
      expect(place(holders, 'indexOf')).toBeLessThan(place(NODES, 'lastIndexOf'));
      expect(place(holders, 'lastIndexOf')).toBeGreaterThan(place(NODES, 'lastIndexOf'));
    }
    for (const { headers } of asked) expect(headers).not.toHaveProperty('accept-encoding');
    const accept = asked.find(({ path }) => path === NODES)?.headers.accept;
    expect(accept).toContain('as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
  });

  test('connections are kept between reads', async () => {
    const { api, connections } = await fakeApi(cluster(() => {}));
    const reader = new LiveReader({ api });
    await reader.read(soon());
    const first = connections();
    for (let read = 0; read < 5; read += 1) await reader.read(soon());
    expect(connections()).toBe(first);
  });
});

describe('a config that is handed from its pool to a node while everything is read', () => {
  test.each([
    ['pools that answer at once', 50],
    ['pools that take long, so that nodes are looked at before', 600],
  ])('%s: it is seen', async (_title, poolsMs) => {
    // As soon as nodes have been read once, a node gets the config, and its pool leaves it.
    let handed = false;
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path === NODES) {
          send(response, handed ? ONE_NODE : list([]));
          handed = true;
          return true;
        }
        if (asked.path !== POOLS) return false;
        setTimeout(() => {
          send(response, list([handed ? pool('worker', 'rendered-worker-other', '2') : pool('worker', CONFIG, '1')]));
        }, poolsMs);
        return true;
      }),
    );

    const references = await new LiveReader({ api }).read(soon(5_000));

    expect(references.unreadable).toEqual([]);
    expect(users(references)).toEqual(['Node w0 currentConfig']);
  });

  test('and back again', async () => {
    // A node has the config when the read begins. Then its pool takes it back, and the node leaves it.
    let back = false;
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path === POOLS) {
          send(response, list([back ? pool('worker', CONFIG, '2') : pool('worker', 'rendered-worker-other', '1')]));
          back = true;
          return true;
        }
        if (asked.path !== NODES) return false;
        send(response, back ? list([]) : ONE_NODE);
        return true;
      }),
    );

    expect(users(await new LiveReader({ api }).read(soon()))).toEqual(['MachineConfigPool worker spec']);
  });

  test('pools that change a few times while they are read are read until they do not', async () => {
    const { api } = await poolsThatChange(5);
    expect((await new LiveReader({ api }).read(soon())).unreadable).toEqual([]);
  });

  test('pools that never stop changing: said to be so, and no proof of anything', async () => {
    const patience = new AbortController();
    // While pools are listed, which is nothing that anybody could do something about.
    const { api } = await poolsThatChange(Number.POSITIVE_INFINITY, (version) => {
      if (version === 5) patience.abort();
    });

    expect((await new LiveReader({ api }).read(patience.signal)).unreadable).toEqual([
      { name: 'references', reason: 'they kept changing while they were read' },
    ]);
  });
});

describe('who shares a read', () => {
  test('reviews that arrive together share one', async () => {
    const { api } = await fakeApi(cluster(() => {}));
    const reader = new LiveReader({ api });
    await Promise.all(Array.from({ length: 50 }, async () => await reader.read(soon())));
    expect(reader.readCount).toBe(1);
  });

  test('a crowd that takes longer to arrive than a read takes is waited for', async () => {
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path !== NODES) return false;
        setTimeout(() => {
          send(response, list([]));
        }, 20);
        return true;
      }),
    );
    const reader = new LiveReader({ api });
    const reads: Promise<ClusterState>[] = [];
    while (reads.length < 400) {
      reads.push(...Array.from({ length: 4 }, () => reader.read(soon(10_000))));
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
    expect((await Promise.all(reads)).every(({ unreadable }) => unreadable.length === 0)).toBe(true);
    // Without waiting, one every 30 ms.
    expect(reader.readCount).toBeLessThanOrEqual(6);
  });

  test('a crowd that never ends is not waited for without end', async () => {
    const { api } = await fakeApi(cluster(() => {}));
    const reader = new LiveReader({ api });
    const crowd = () => Array.from({ length: 20 }, async () => await reader.read(soon(10_000)));
    const [first] = crowd();
    const state = { isRead: false };
    void first?.then(() => (state.isRead = true));
    const others: Promise<ClusterState>[] = [];
    while (!state.isRead) {
      others.push(...crowd());
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect((await first)?.unreadable).toEqual([]);
    expect((await Promise.all(others)).every(({ unreadable }) => unreadable.length === 0)).toBe(true);
  });

  test('a review never joins a read that has begun: what was written after that is seen', async () => {
    let written = false;
    let listed = 0;
    const held: (() => void)[] = [];
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path !== NODES) return false;
        // The state at the time of the request, sent late: what a slow list looks like.
        const body = written ? ONE_NODE : list([]);
        listed += 1;
        if (listed === 1) held.push(() => void send(response, body));
        else send(response, body);
        return true;
      }),
    );
    const reader = new LiveReader({ api });
    const early = reader.read(soon());
    await expect.poll(() => held.length).toBe(1);
    written = true;
    const late = Array.from({ length: 20 }, async () => await reader.read(soon()));
    held[0]?.();
    await early;
    for (const references of await Promise.all(late)) expect(users(references)).toEqual(['Node w0 currentConfig']);
    expect(reader.readCount).toBe(2);
  });

  test('a read that hangs does not keep later reviews from a fresh one, and ends with its last waiter', async () => {
    let first = true;
    let cut = false;
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path !== NODES || !first) return false;
        first = false;
        response.on('close', () => {
          cut = true;
        });
        return true;
      }),
    );
    const reader = new LiveReader({ api });
    const stuck = reader.read(soon(3_000));
    await expect.poll(() => first).toBe(false);
    const begun = performance.now();
    expect((await reader.read(soon(3_000))).unreadable).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(cut).toBe(false);
    expect((await stuck).unreadable).toEqual([{ name: 'nodes', reason: 'no complete answer in time' }]);
    await expect.poll(() => cut).toBe(true);
  });

  test('a read that is only slow stays alone: the next one waits for it', async () => {
    const under = { way: 0, most: 0 };
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path !== NODES) return false;
        under.way += 1;
        under.most = Math.max(under.most, under.way);
        const text = list(Array.from({ length: 6 }, (_, index) => node(`w${index}`, CONFIG)));
        const pieces = text.match(/[^]{1,160}/g) ?? [];
        const timer = setInterval(() => {
          const piece = pieces.shift();
          if (piece !== undefined) response.write(piece);
          if (pieces.length > 0) return;
          clearInterval(timer);
          under.way -= 1;
          response.end();
        }, 300);
        return true;
      }),
    );
    const reader = new LiveReader({ api });
    const early = reader.read(soon(20_000));
    await expect.poll(() => under.way).toBe(1);
    const late = reader.read(soon(20_000));
    expect((await early).unreadable).toEqual([]);
    expect((await late).unreadable).toEqual([]);
    expect(under.most).toBe(1);
    expect(reader.readCount).toBe(2);
  });
});

describe('what cannot be read is never "none"', () => {
  test.each([
    [401, 'the API server answered 401 Because'],
    [403, 'the API server answered 403 Because'],
    [406, 'the API server answered 406 Because'],
  ])('refused with %d: at once', async (code, reason) => {
    const { api } = await fakeApi(cluster((asked, response) => asked.path === NODES && (fail(response, code), true)));
    const begun = performance.now();
    expect((await new LiveReader({ api }).read(soon())).unreadable).toEqual([{ name: 'nodes', reason }]);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });

  test('nodes that are not served', async () => {
    const { api } = await fakeApi(cluster((asked, response) => asked.path === NODES && (notServed(response), true)));
    expect((await new LiveReader({ api }).read(soon())).unreadable).toEqual([
      { name: 'nodes', reason: 'the API server answered 404' },
    ]);
  });

  test.each([
    ['500', (response: ServerResponse) => fail(response, 500), 'the API server answered 500 Because'],
    ['429', (response: ServerResponse) => fail(response, 429), 'the API server answered 429 Because'],
    ['a reset', (response: ServerResponse) => response.destroy(), /cannot be reached: ECONNRESET$/],
    [
      'half a list',
      (response: ServerResponse) => send(response, ONE_NODE.slice(0, -5)),
      'the list is incomplete or not JSON',
    ],
    [
      'a list that breaks off',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': ONE_NODE.length });
        response.write(ONE_NODE.slice(0, 20), () => response.destroy());
      },
      /the answer broke off: ECONNRESET/,
    ],
    [
      'a page',
      (response: ServerResponse) =>
        send(response, '{"kind":"NodeList","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}'),
      'the list is only a page of a longer one',
    ],
    ['a login page', (response: ServerResponse) => send(response, '<html>'), 'the list is incomplete or not JSON'],
    [
      'a node without a name',
      (response: ServerResponse) => send(response, list([{ metadata: {} }])),
      'a Node has no name',
    ],
  ])('%s, again and again', async (_title, answer, reason) => {
    const { api } = await fakeApi(cluster((asked, response) => asked.path === NODES && (void answer(response), true)));
    const { unreadable } = await new LiveReader({ api }).read(soon(2_000));
    expect(unreadable).toEqual([
      { name: 'nodes', reason: reason instanceof RegExp ? expect.stringMatching(reason) : reason },
    ]);
  });

  test('a 404 for pools that the API server lists in its directory', async () => {
    const { api } = await fakeApi(cluster((asked, response) => asked.path === POOLS && (notServed(response), true)));
    expect((await new LiveReader({ api }).read(soon(3_000))).unreadable).toEqual([
      { name: 'machineconfigpools', reason: 'machineconfigpools are served, and yet their list was answered 404' },
    ]);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['answers 404 to everything', notServed],
    ['answers with a page', (response) => send(response, '{"kind":"Page"}')],
    ['refuses', (response) => fail(response, 403)],
  ])('a 404 from something that %s and has no directory', async (_title, answer) => {
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path === NODES) return false;
        if (asked.path === POOLS || asked.path === BUILDS) notServed(response);
        else answer(response);
        return true;
      }),
    );
    const { unreadable } = await new LiveReader({ api }).read(soon(3_000));
    expect(unreadable.map(({ name }) => name).sort()).toEqual(['machineconfigpools', 'machineosbuilds']);
  });

  test('a kind that could not be read does not hide a use that was', async () => {
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path === NODES) send(response, ONE_NODE);
        else if (asked.path === POOLS) fail(response, 403);
        else return false;
        return true;
      }),
    );
    const references = await new LiveReader({ api }).read(soon());
    expect(users(references)).toEqual(['Node w0 currentConfig']);
    expect(references.unreadable).toHaveLength(1);
  });

  test.each([NODES, POOLS])('in one order, whichever was refused first: %s last', async (last) => {
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path === last) setTimeout(() => fail(response, 403), 100);
        else if ([NODES, POOLS].includes(asked.path)) fail(response, 403);
        else return false;
        return true;
      }),
    );
    const { unreadable } = await new LiveReader({ api }).read(soon());
    expect(unreadable.map(({ name }) => name)).toEqual(['nodes', 'machineconfigpools']);
  });

  test('nothing is reachable: the reason names the address', async () => {
    const { api, reset } = await fakeApi(() => {});
    const reading = new LiveReader({ api }).read(soon(300));
    reset();
    expect((await reading).unreadable.map(({ name }) => name)).toEqual([
      'nodes',
      'machineconfigpools',
      'machineosbuilds',
    ]);
  });
});

describe('what passes by itself', () => {
  test('429 with Retry-After, as while a definition is being changed; then the list', async () => {
    let refusals = 2;
    const times: number[] = [];
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.path !== POOLS) return false;
        times.push(performance.now());
        if (refusals === 0) return false;
        refusals -= 1;
        fail(response, 429, { 'retry-after': '1' });
        return true;
      }),
    );
    expect((await new LiveReader({ api }).read(soon(4_000))).unreadable).toEqual([]);
    // Two refusals, then before and after the nodes.
    expect(times).toHaveLength(4);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950);
  });

  test('a kept connection that was closed meanwhile', async () => {
    const { api, reset } = await fakeApi(cluster(() => {}));
    const reader = new LiveReader({ api });
    await reader.read(soon());
    reset();
    expect((await reader.read(soon())).unreadable).toEqual([]);
  });

  test('a token that was replaced on disk', async () => {
    let valid = 'old';
    const { api } = await fakeApi(
      cluster((asked, response) => {
        if (asked.headers.authorization === `Bearer ${valid}`) return false;
        fail(response, 401);
        return true;
      }),
      () => valid,
    );
    const reader = new LiveReader({ api });
    expect((await reader.read(soon())).unreadable).toEqual([]);
    valid = 'new';
    expect((await reader.read(soon())).unreadable).toEqual([]);
  });

  test('builds that only the older version of the API knows', async () => {
    const build = { metadata: { name: 'b0' }, spec: { desiredConfig: { name: CONFIG } } };
    const { api } = await fakeApi(
      cluster((asked, response) => asked.path === ALPHA_BUILDS && (send(response, list([build])), true)),
    );
    expect(users(await new LiveReader({ api }).read(soon()))).toEqual(['MachineOSBuild b0 desiredConfig']);
  });
});
