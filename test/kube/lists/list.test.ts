import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { ApiResponse, KubeApi } from '../../../src/kube/api.ts';
import { listCollection } from '../../../src/kube/lists/list.ts';

/** A client whose response has arrived in full, in chunks of 64 KiB. */
function createApi(list: object) {
  const bytes = Buffer.from(JSON.stringify(list));
  const count = Math.ceil(bytes.length / 65_536);
  const chunks = Array.from({ length: count }, (_, index) =>
    bytes.subarray(65_536 * index, 65_536 * (index + 1)),
  );
  const body = Readable.from(chunks) as ApiResponse['body'];
  const request = async () => await Promise.resolve({ status: 200, headers: {}, body });
  return { request } as unknown as KubeApi;
}

test('lets other work run while it parses a long list', async () => {
  const items = Array.from({ length: 2_000 }, (_, index) => ({
    metadata: { name: `worker-${index}` },
    status: 'x'.repeat(1_000),
  }));
  const api = createApi({
    apiVersion: 'v1',
    kind: 'NodeList',
    metadata: { resourceVersion: '7' },
    items,
  });
  let itemsInTurn = 0;
  const counts: number[] = [];
  const startTurn = () => {
    counts.push(itemsInTurn);
    itemsInTurn = 0;
    timer = setImmediate(startTurn);
  };
  let timer = setImmediate(startTurn);
  onTestFinished(() => clearImmediate(timer));
  const resource = { kind: 'Node', isMetadataOnly: false };
  const countItem = () => void (itemsInTurn += 1);
  const { signal } = new AbortController();
  expect(await listCollection(api, '/api/v1/nodes', resource, countItem, signal)).toBe('7');
  counts.push(itemsInTurn);
  expect(counts.reduce((sum, count) => sum + count)).toBe(items.length);
  expect(Math.max(...counts)).toBeLessThan(500);
});
