import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Resource } from '../../src/kube/resource.ts';
import type { Referrer } from '../../src/decision/references.ts';
import { Reflector, type ReflectorTiming } from '../../src/kube/reflector.ts';
import { BUILDS as BUILD_SOURCE, NODES as NODE_SOURCE } from '../../src/references/sources.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import {
  ALPHA_BUILDS,
  bookmark,
  BUILDS,
  directory,
  event,
  fail,
  fakeApi,
  type FakeApi,
  type Handler,
  list,
  node,
  notServed,
  POOLS,
  send,
} from '../support/fake-api.ts';
import { memoryLog } from '../support/log.ts';

const TIMING: ReflectorTiming = {
  backoffMs: [10, 50],
  absentMs: 30,
  probeMs: 60_000,
  silenceMs: 60_000,
  requestMs: 5_000,
};

interface Followed extends FakeApi {
  readonly reflector: Reflector<Referrer>;
  readonly lines: Record<string, unknown>[];
  /** `name config` of everything that is known. */
  known: () => string[];
  watches: () => string[];
  lists: () => number;
}

async function follow(
  handler: Handler,
  {
    source = NODE_SOURCE,
    timing = {},
    token,
  }: { source?: Resource<Referrer>; timing?: Partial<ReflectorTiming>; token?: () => string } = {},
): Promise<Followed> {
  const fake = await fakeApi(handler, token);
  const { log, lines } = memoryLog();
  const reflector = new Reflector({ api: fake.api, resource: source, log, timing: { ...TIMING, ...timing } });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return {
    ...fake,
    reflector,
    lines,
    known: () =>
      [...reflector.objects()].map(({ name, references }) => `${name} ${references[0]?.config ?? '-'}`).sort(),
    watches: () => fake.asked.filter(({ watch }) => watch).map(({ query }) => query.get('resourceVersion') ?? ''),
    lists: () => fake.asked.filter(({ watch, query }) => !watch && !query.has('limit')).length,
  };
}

/** Watches that stay open, for the test to write to. */
function openWatches(): { watching: ServerResponse[]; open: (response: ServerResponse) => void } {
  const watching: ServerResponse[] = [];
  return {
    watching,
    open: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      watching.push(response);
    },
  };
}

test('follows additions, changes and deletions; asks for bookmarks and metadata only', async () => {
  const { watching, open } = openWatches();
  const it = await follow((asked, response) => {
    if (asked.watch) open(response);
    else send(response, list([node('a', 'rendered-1'), node('b', 'rendered-1')]));
  });
  await expect.poll(() => watching.length).toBe(1);
  expect(it.reflector.isSynced).toBe(true);
  expect(it.known()).toEqual(['a rendered-1', 'b rendered-1']);
  watching[0]?.write(
    event('MODIFIED', node('a', 'rendered-2', '11')) + event('DELETED', node('b', 'rendered-1', '12')),
  );
  // Events do not end where packets end.
  const added = event('ADDED', node('c', 'rendered-3', '13'));
  watching[0]?.write(added.slice(0, 30));
  await new Promise((resolve) => setTimeout(resolve, 20));
  watching[0]?.write(added.slice(30));
  await expect.poll(() => it.known()).toEqual(['a rendered-2', 'c rendered-3']);
  const watch = it.asked.find((asked) => asked.watch);
  expect(watch?.query.get('allowWatchBookmarks')).toBe('true');
  expect(Number(watch?.query.get('timeoutSeconds'))).toBeGreaterThanOrEqual(300);
  expect(watch?.headers.accept).toContain('as=PartialObjectMetadata;');
});

describe('goes on from where it was', () => {
  test.each(['ended', 'cut'] as const)(
    'when the watch is %s, from the last bookmark, without a new list',
    async (how) => {
      const { watching, open } = openWatches();
      const it = await follow((asked, response) => {
        if (asked.watch) open(response);
        else send(response, list([node('a', 'rendered-1')], '40'));
      });
      await expect.poll(() => watching.length).toBe(1);
      watching[0]?.write(bookmark('30'));
      await new Promise((resolve) => setTimeout(resolve, 30));
      if (how === 'ended') watching[0]?.end();
      else watching[0]?.destroy();
      await expect.poll(() => watching.length).toBe(2);
      watching[1]?.write(event('MODIFIED', node('a', 'rendered-2', '41')));
      await expect.poll(() => it.known()).toEqual(['a rendered-2']);
      expect(it.watches()).toEqual(['40', '30']);
      expect(it.lists()).toBe(1);
    },
  );
});

describe('begins again with a list', () => {
  const gone = { kind: 'Status', code: 410, message: 'too old resource version' };
  test.each<[string, (response: ServerResponse) => void]>([
    ['HTTP 410', (response) => fail(response, 410)],
    ['an ERROR event 410', (response) => response.end(event('ERROR', gone))],
    ['an ERROR event 500', (response) => response.end(event('ERROR', { ...gone, code: 500 }))],
    ['a line that is not JSON', (response) => response.end('garbage\n')],
    ['an event without an object', (response) => response.end(event('MODIFIED', undefined))],
    ['an event of an unknown type', (response) => response.end(event('FUTURE', node('a', 'x', '11')))],
  ])('after %s', async (_title, firstWatch) => {
    let watches = 0;
    const { open } = openWatches();
    const it = await follow((asked, response) => {
      if (asked.watch) {
        watches += 1;
        if (watches === 1) firstWatch(response);
        else open(response);
      } else send(response, list([node('a', `rendered-${watches}`)], String(10 + watches)));
    });
    await expect.poll(() => it.known()).toEqual(['a rendered-1']);
    await expect.poll(() => it.watches()).toEqual(['10', '11']);
    expect(it.lists()).toBe(2);
  });

  test('when versions went back, which a watch does not tell', async () => {
    const { watching, open } = openWatches();
    let restored = false;
    const it = await follow(
      (asked, response) => {
        if (asked.watch) open(response);
        else
          send(response, restored ? list([node('a', 'rendered-old')], '50') : list([node('a', 'rendered-1')], '1000'));
      },
      { timing: { probeMs: 40 } },
    );
    await expect.poll(() => watching.length).toBe(1);
    restored = true;
    await expect.poll(() => it.known()).toEqual(['a rendered-old']);
    await expect.poll(() => it.watches().at(-1)).toBe('50');
  });

  test('when the probe does not get through, and the watch may be as dead', async () => {
    const { watching, open } = openWatches();
    let frozen = false;
    const it = await follow(
      (asked, response) => {
        if (frozen) return;
        if (asked.watch) open(response);
        else send(response, list([node('a', 'rendered-1')]));
      },
      { timing: { probeMs: 40, requestMs: 100 } },
    );
    await expect.poll(() => watching.length).toBe(1);
    frozen = true;
    await expect.poll(() => it.lines.some(({ msg }) => msg === 'cannot follow nodes: timed out')).toBe(true);
    frozen = false;
    await expect.poll(() => watching.length).toBeGreaterThan(1);
  });
});

test('a watch that is silent for too long is opened anew', async () => {
  const { watching, open } = openWatches();
  await follow(
    (asked, response) => {
      if (asked.watch) open(response);
      else send(response, list([]));
    },
    { timing: { silenceMs: 100 } },
  );
  await expect.poll(() => watching.length).toBeGreaterThan(2);
});

test('a watch that is kept alive by bookmarks is left open', async () => {
  const { watching, open } = openWatches();
  await follow(
    (asked, response) => {
      if (asked.watch) open(response);
      else send(response, list([]));
    },
    { timing: { silenceMs: 200 } },
  );
  await expect.poll(() => watching.length).toBe(1);
  for (let version = 11; version < 21; version += 1) {
    watching[0]?.write(bookmark(String(version)));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(watching).toHaveLength(1);
});

describe('is not synced before a complete answer, and does not give up', () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ['503', (response) => fail(response, 503)],
    ['429', (response) => fail(response, 429)],
    ['403', (response) => fail(response, 403)],
    ['404 for nodes', notServed],
    ['a reset', (response) => response.destroy()],
    ['half a list', (response) => send(response, list([node('a', 'x')]).slice(0, -4))],
  ])('%s ten times, then the list; the log says it once', async (_title, answer) => {
    let left = 10;
    const { open } = openWatches();
    const it = await follow((asked, response) => {
      if (asked.watch) open(response);
      else if (left > 0) {
        left -= 1;
        answer(response);
      } else send(response, list([node('a', 'rendered-1')]));
    });
    expect(it.reflector.isSynced).toBe(false);
    await expect.poll(() => it.reflector.isSynced, { timeout: 5_000 }).toBe(true);
    expect(it.known()).toEqual(['a rendered-1']);
    expect(it.lines.filter(({ msg }) => String(msg).startsWith('cannot follow nodes')).length).toBe(1);
  });

  test('what was known stays known while the API server is away', async () => {
    const { watching, open } = openWatches();
    let away = false;
    const it = await follow((asked, response) => {
      if (away) fail(response, 503);
      else if (asked.watch) open(response);
      else send(response, list([node('a', 'rendered-1')]));
    });
    await expect.poll(() => watching.length).toBe(1);
    away = true;
    watching[0]?.destroy();
    await expect.poll(() => it.lines.length).toBeGreaterThan(0);
    expect(it.known()).toEqual(['a rendered-1']);
    expect(it.reflector.isSynced).toBe(true);
  });
});

describe('a kind that the cluster may do without', () => {
  const build = { metadata: { name: 'b', resourceVersion: '5' }, spec: { machineConfig: { name: 'rendered-1' } } };

  test('is none while it is not served, appears without a restart, and goes again', async () => {
    const { watching, open } = openWatches();
    let served = false;
    const it = await follow(
      (asked, response) => {
        if (directory(asked, response, served ? [BUILDS] : [POOLS])) return;
        if (!served || asked.path !== BUILDS) notServed(response);
        else if (asked.watch) open(response);
        else send(response, list([build]));
      },
      { source: BUILD_SOURCE },
    );
    await expect.poll(() => it.reflector.isSynced).toBe(true);
    expect(it.known()).toEqual([]);
    expect(it.asked.some(({ path }) => path === ALPHA_BUILDS)).toBe(true);
    served = true;
    await expect.poll(() => it.known()).toEqual(['b rendered-1']);
    served = false;
    watching[0]?.destroy();
    await expect.poll(() => it.known()).toEqual([]);
    expect(it.reflector.isSynced).toBe(true);
  });
});

test('a token that was replaced is read again when the old one is refused', async () => {
  let valid = 'old';
  const { watching, open } = openWatches();
  const it = await follow(
    (asked, response) => {
      if (asked.headers.authorization !== `Bearer ${valid}`) fail(response, 401);
      else if (asked.watch) open(response);
      else send(response, list([node('a', 'rendered-1')]));
    },
    { token: () => valid },
  );
  await expect.poll(() => watching.length).toBe(1);
  valid = 'new';
  watching[0]?.destroy();
  await expect.poll(() => watching.length).toBe(2);
  expect(it.known()).toEqual(['a rendered-1']);
});

test('5,000 nodes of 10 kB leave less than 1 kB each', async () => {
  const padding = 'x'.repeat(10_000);
  const body = list(
    Array.from({ length: 5_000 }, (_, index) => {
      const one = node(`node-${index}`, 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796') as {
        metadata: { annotations: Record<string, string> };
      };
      one.metadata.annotations['other'] = padding;
      return one;
    }),
  );
  expect(body.length).toBeGreaterThan(50_000_000);
  const { open } = openWatches();
  const before = retainedBytes();
  const it = await follow((asked, response) => {
    if (asked.watch) open(response);
    else send(response, body);
  });
  await expect.poll(() => it.known().length, { timeout: 10_000 }).toBe(5_000);
  expect(retainedBytes() - before).toBeLessThan(5_000_000);
});

/** The heap after a full collection, in bytes. */
function retainedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('what changes is told, as it was and as it is: in a list, in a watch, and between two lists', async () => {
  const changes: string[] = [];
  const { watching, open } = openWatches();
  let lists = 0;
  const fake = await fakeApi((asked, response) => {
    if (asked.watch) open(response);
    else
      send(
        response,
        list(
          asked.query.has('limit') || (lists += 1) === 1
            ? [node('a', 'x'), node('b', 'x'), node('c', 'x')]
            : [node('c', 'z'), node('d', 'z')],
        ),
      );
  });
  const reflector = new Reflector({
    api: fake.api,
    resource: NODE_SOURCE,
    log: memoryLog().log,
    timing: TIMING,
    onChange: (before, now) => changes.push(`${(now ?? before)?.name} ${configOf(before)} ${configOf(now)}`),
  });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  await expect.poll(() => watching.length).toBe(1);
  expect(changes.splice(0)).toEqual(['a - x', 'b - x', 'c - x']);
  watching[0]?.write(event('MODIFIED', node('b', 'y', '11')));
  watching[0]?.write(event('DELETED', node('a', 'x', '12')));
  await expect.poll(() => changes.length).toBe(2);
  expect(changes.splice(0)).toEqual(['b x y', 'a x -']);
  watching[0]?.end(event('ERROR', { code: 410 }));
  await expect.poll(() => changes.length).toBe(3);
  expect(changes).toEqual(['b y -', 'c x z', 'd - z']);
  stop.abort();
  await running;
});

function configOf(referrer: Referrer | undefined): string {
  return referrer?.references[0]?.config ?? '-';
}
