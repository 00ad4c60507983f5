import { afterAll, expect, test } from 'vitest';

import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';

const JSON_TYPE = 'Content-Type: application/json';
const guarded = await sharedGuardedCluster();
const attacker = await Attacker.create(guarded);
const review = attacker.review();
const length = Buffer.byteLength(review);

afterAll(async () => {
  expect(await findDamage(guarded)).toEqual([]);
  expect((await attacker.cluster.delete(attacker.usedConfig)).status).toBe(403);
});

function withHead(...head: readonly string[]): Buffer {
  return attacker.request(review, { head: [JSON_TYPE, ...head] });
}

// Two readers must never disagree about the end of a request. Unit tests send other bodies (test/webhook).
test.each<readonly [title: string, request: Buffer, answer: RegExp]>([
  ['a good request', attacker.request(), /^HTTP\/1\.1 200 [^]*MCG_IN_USE/],
  ['a header of 20 kB', withHead(`Content-Length: ${length}`, `X: ${'x'.repeat(20_000)}`), /^HTTP\/1\.1 431 /],
  ['two different lengths', withHead(`Content-Length: ${length}`, 'Content-Length: 1'), /^HTTP\/1\.1 400 /],
  ['a length and chunks', withHead(`Content-Length: ${length}`, 'Transfer-Encoding: chunked'), /^HTTP\/1\.1 400 /],
  ['chunked, but not last', withHead('Transfer-Encoding: chunked, identity'), /^HTTP\/1\.1 400 /],
  ['a body longer than its length', withHead(`Content-Length: ${length - 10}`), /^HTTP\/1\.1 400 /],
])('answers correctly: %s', async (_title, request, answer) => {
  expect(await attacker.send(request, answer)).toMatch(answer);
});
