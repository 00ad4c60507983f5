import { expect, test } from 'vitest';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { DanglingReferenceDetector } from '../../src/references/dangling-reference-detector.ts';
import type { ReferenceIndex } from '../../src/references/reference-index.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { parseNodeReferrer } from '../../src/references/parse-referrer.ts';
import { memoryLog } from '../support/log.ts';

const SIGNAL = new AbortController().signal;
const NAME = `rendered-worker-${'a'.repeat(32)}`;
const OTHER = `rendered-worker-${'b'.repeat(32)}`;

function absent(): never {
  throw new ApiError(404, 'NotFound', 'there is none');
}

function watching() {
  const configs = new Set<string>([NAME]);
  let currentConfig = NAME;
  let isSynced = true;
  let answer: () => unknown = absent;
  let asked = 0;
  const index = {
    get isSynced() {
      return isSynced;
    },
    referrers: () => [
      parseNodeReferrer({
        metadata: {
          name: 'worker-0',
          annotations: { 'machineconfiguration.openshift.io/currentConfig': currentConfig },
        },
      }),
    ],
  } as unknown as ReferenceIndex;
  const deleted = new Map<string, Date>();
  const known = {
    isSynced: true,
    names: () => new Set([...configs].map((name) => toConfigName(name))),
    deletedAt: (name: string) => deleted.get(name),
  };
  const found: string[] = [];
  const { log, lines } = memoryLog();
  const health = new DanglingReferenceDetector({
    api: {
      json: async () => {
        asked += 1;
        return await Promise.resolve(answer());
      },
    },
    index,
    configs: known,
    log,
    onFound: ({ config }) => found.push(String(config)),
    now: () => new Date('2026-11-21T12:00:00Z'),
  });
  return {
    health,
    found,
    lines,
    configs,
    deleted,
    asked: () => asked,
    name: (config: string) => void (currentConfig = config),
    unsync: () => void (isSynced = false),
    answer: (next: () => unknown) => void (answer = next),
    look: async () => await health.check(SIGNAL),
  };
}

test('found, told once, healed, told once', async () => {
  const it = watching();
  await it.look();
  expect(it.health.findings).toEqual([]);
  it.name(OTHER);
  await it.look();
  await it.look();
  expect(it.health.findings).toMatchObject([{ kind: 'Node', name: 'worker-0', field: 'currentConfig', config: OTHER }]);
  expect(it.found).toEqual([OTHER]);
  // It was looked at once more, and then believed.
  expect(it.asked()).toBe(1);
  it.name(NAME);
  await it.look();
  await it.look();
  expect(it.health.findings).toEqual([]);
  expect(it.lines).toHaveLength(2);
});

test('a config that is only not heard of yet is no finding', async () => {
  const it = watching();
  it.name(OTHER);
  it.answer(() => ({ metadata: { name: OTHER } }));
  await it.look();
  expect(it.health.findings).toEqual([]);
});

test.each([
  ['unreachable', new ApiUnreachable('x')],
  ['a bare 404', new ApiError(404, '', 'x')],
  ['403', new ApiError(403, 'Forbidden', 'x')],
])('what cannot be looked at (%s) is no finding, and is looked at again', async (_name, error) => {
  const it = watching();
  it.name(OTHER);
  it.answer(() => {
    throw error;
  });
  await it.look();
  await it.look();
  expect(it.health.findings).toEqual([]);
  expect(it.asked()).toBe(2);
});

test('before everything has been read nothing is said', async () => {
  const it = watching();
  it.unsync();
  it.name(OTHER);
  await it.look();
  expect(it.asked()).toBe(0);
});

test('deleted here is told from never seen; a typing error is recognized', async () => {
  const it = watching();
  await it.look();
  it.configs.delete(NAME);
  it.deleted.set(NAME, new Date('2026-11-21T12:00:00Z'));
  await it.look();
  expect(it.health.findings[0]?.explanation).toBe('deleted at 2026-11-21T12:00:00.000Z');
  it.configs.add(NAME);
  it.name(NAME.replace('rendered', 'render'));
  await it.look();
  expect(it.health.findings[0]).toMatchObject({ explanation: expect.stringMatching(/^never seen/), suggestion: NAME });
});
