import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { ApiResponse, KubeApi } from '../../../src/kube/api.ts';
import { MalformedList } from '../../../src/kube/errors.ts';
import { listCollection } from '../../../src/kube/lists/list.ts';
import { countTurns } from '../../support/turns.ts';
import { encodeAnswer, encodeList } from './protobuf-encoding.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const NODES = { kind: 'Node', isMetadataOnly: true };

/** Lists nodes in a response that has arrived in full, in chunks of 64 KiB. */
function createList(bytes: Buffer, contentType: string) {
  const count = Math.ceil(bytes.length / 65_536);
  const chunks = Array.from({ length: count }, (_, index) => bytes.subarray(65_536 * index, 65_536 * (index + 1)));
  const body = Readable.from(chunks) as ApiResponse['body'];
  const request = async () => await Promise.resolve({ status: 200, headers: { 'content-type': contentType }, body });
  const api = { request } as unknown as KubeApi;
  const { signal } = new AbortController();
  const list = async (onObject: () => void) => await listCollection(api, '/api/v1/nodes', NODES, onObject, signal);
  return { list, body };
}

const NAMES = Array.from({ length: 2_000 }, (_, at) => ({ name: `worker-${at}`, managed: new Uint8Array(1_000) }));
const LIST = { apiVersion: 'v1', kind: 'NodeList', metadata: { resourceVersion: '7' } };

test.each([
  ['JSON', 'application/json', JSON.stringify({ ...LIST, items: NAMES.map(({ name }) => ({ metadata: { name } })) })],
  ['protobuf', PROTOBUF, encodeAnswer(encodeList(NAMES))],
])('lets other work run between the objects of a long list in %s', async (_title, contentType, text) => {
  const { list } = createList(Buffer.from(text), contentType);
  let count = 0;
  // At most 500 objects in one turn.
  expect(await countTurns(list(() => void (count += 1)))).toBeGreaterThanOrEqual(NAMES.length / 500);
  expect(count).toBe(NAMES.length);
});

test('does not read on after a part of a protobuf list is malformed', async () => {
  const { list, body } = createList(Buffer.alloc(1_000_000), PROTOBUF);
  await expect(list(() => {})).rejects.toThrow(MalformedList);
  expect(body.destroyed).toBe(true);
});

test('rejects a JSON list of more than 16 MiB', async () => {
  const { list } = createList(Buffer.alloc(17 * 1024 * 1024, ' '), 'application/json');
  await expect(list(() => {})).rejects.toThrow('the response is too large');
});
