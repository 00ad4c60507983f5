import { afterAll, expect, test } from 'vitest';

import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = 'Content-Type: application/json';
const CLOSED = /^$/;
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

function withChunks(...chunks: readonly string[]): Buffer {
  return attacker.request(chunks.join(''), { head: [JSON_TYPE, 'Transfer-Encoding: chunked'] });
}

// Two readers must never disagree about the end of a request. Unit tests send malformed reviews (test/webhook).
test.each<readonly [title: string, request: Buffer, answer: RegExp]>([
  ['a good request', attacker.request(), /^HTTP\/1\.1 200 [^]*MCG_IN_USE/],
  ['a header of 20 kB', withHead(`Content-Length: ${length}`, `X: ${'x'.repeat(20_000)}`), /^HTTP\/1\.1 431 /],
  ['two different lengths', withHead(`Content-Length: ${length}`, 'Content-Length: 1'), /^HTTP\/1\.1 400 /],
  ['a length and chunks', withHead(`Content-Length: ${length}`, 'Transfer-Encoding: chunked'), /^HTTP\/1\.1 400 /],
  ['chunked, but not last', withHead('Transfer-Encoding: chunked, identity'), /^HTTP\/1\.1 400 /],
  // The API server announces the length. The connection closes, because each chunk costs as much as a request.
  ['chunks of one byte', withChunks(...Array.from(review, (byte) => `1\r\n${byte}\r\n`), '0\r\n\r\n'), CLOSED],
  ['a body longer than its length', withHead(`Content-Length: ${length - 10}`), /^HTTP\/1\.1 400 /],
  ['a body that is announced with 5 MiB', withHead(`Content-Length: ${5 * MIB}`), /^HTTP\/1\.1 200 [^]*MCG_BAD_REVIEW/],
  ['2,000 pipelined requests', Buffer.concat(Array.from({ length: 2_000 }, () => attacker.request())), CLOSED],
  ['a null character in the path', attacker.request(review, { target: '/validate%00' }), /^HTTP\/1\.1 404 /],
])('answers correctly: %s', async (_title, request, answer) => {
  expect(await attacker.send(request, answer)).toMatch(answer);
});
