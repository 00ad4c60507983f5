import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ApiResponse, KubeApi } from '../../../src/kube/api.ts';
import { listCollection } from '../../../src/kube/lists/list.ts';
import { countTurns } from '../../support/turns.ts';
import { bytesField, encodeAnswer, encodeList } from './protobuf-encoding.ts';

const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const NODES = { kind: 'Node', isMetadataOnly: true };

/** Lists nodes in a response that has arrived in full, in chunks of 64 KiB. */
function createList(bytes: Buffer, contentType: string, date?: string, chunkSize = 65_536) {
  const count = Math.ceil(bytes.length / chunkSize);
  const chunks = Array.from({ length: count }, (_, index) =>
    bytes.subarray(chunkSize * index, chunkSize * (index + 1)),
  );
  const body = Readable.from(chunks) as ApiResponse['body'];
  const request = async () =>
    await Promise.resolve({ status: 200, headers: { 'content-type': contentType, date }, body });
  const api = { request } as unknown as KubeApi;
  const { signal } = new AbortController();
  const list = async (onObject: () => void) => await listCollection(api, '/api/v1/nodes', NODES, onObject, signal);
  return { list, body };
}

const NAMES = Array.from({ length: 2_000 }, (_, at) => ({ name: `worker-${at}`, managed: new Uint8Array(1_000) }));
const LIST = { apiVersion: 'v1', kind: 'NodeList', metadata: { resourceVersion: '7' } };
const toJson = (items: readonly object[]) => JSON.stringify({ ...LIST, items });

test.each([
  ['JSON', JSON_TYPE, toJson(NAMES.map(({ name }) => ({ metadata: { name, annotations: { a: 'x'.repeat(1_000) } } })))],
  ['protobuf', PROTOBUF, encodeAnswer(encodeList(NAMES))],
])('lets other work run between the objects of a long list in %s', async (_title, contentType, text) => {
  const { list } = createList(Buffer.from(text), contentType);
  let count = 0;
  // At most 256 KiB in one turn.
  expect(await countTurns(list(() => void (count += 1)))).toBeGreaterThanOrEqual(Math.floor(text.length / 2 ** 18));
  expect(count).toBe(NAMES.length);
});

test('collects young objects after every 2 MiB of a list, if the command line exposes the collection', async () => {
  const collect = vi.fn<() => void>();
  const { gc } = globalThis;
  // Assigned, because a process that exposes it has a property that cannot be defined again.
  Object.assign(globalThis, { gc: collect });
  onTestFinished(() => void Object.assign(globalThis, { gc }));
  const { list } = createList(Buffer.from(`${toJson([])}${' '.repeat(5 * 2 ** 20)}`), JSON_TYPE);
  await list(() => {});
  expect(collect.mock.calls).toEqual([[{ type: 'minor' }], [{ type: 'minor' }]]);
});

const ITEMS = Array.from({ length: 50_001 }, (_, at) => ({ name: `w${at}` }));

test.each([
  ['JSON', JSON_TYPE, toJson(ITEMS.map((metadata) => ({ metadata }))), 'the list has more than 50000 items'],
  ['protobuf', PROTOBUF, encodeAnswer(encodeList(ITEMS)), 'the list has more than 50000 items'],
  ['JSON', JSON_TYPE, `{"items":["${'x'.repeat(10 * 2 ** 20)}`, 'a part of the list is larger than 8 MiB'],
  [
    'protobuf',
    PROTOBUF,
    encodeAnswer(bytesField(2, 'x'.repeat(10 * 2 ** 20))),
    'a part of the list is larger than 8 MiB',
  ],
  ['protobuf', PROTOBUF, '\0'.repeat(1_000_000), 'the response is not protobuf'],
])(
  'does not read a list in %s to its end if it is endless or malformed',
  async (_title, contentType, text, problem) => {
    const { list, body } = createList(Buffer.from(text), contentType);
    await expect(list(() => {})).rejects.toThrow(problem);
    expect(body.destroyed).toBe(true);
  },
);

test('does not read more than 1 GiB of a list', async () => {
  // In one chunk, because a parser would take seconds. The system provides the memory of an empty buffer only on use.
  const { list, body } = createList(Buffer.alloc(2 ** 30 + 1), JSON_TYPE, undefined, 2 ** 31);
  await expect(list(() => {})).rejects.toThrow('the list is larger than 1024 MiB');
  expect(body.destroyed).toBe(true);
});

test.each([
  ['in the past', -60_000, -60_000],
  ['in the future', 3_600_000, 0],
])('dates a list %s by the API server, but not later than by its own clock', async (_case, skew, expected) => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { list } = createList(Buffer.from(toJson([])), JSON_TYPE, new Date(Date.now() + skew).toUTCString());
  expect((await list(() => {})).servedAt.getTime() - Date.now()).toBe(expected);
});
