import { afterAll, expect, test } from 'vitest';

import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';

const MIB = 1024 * 1024;
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

function withTarget(target: string): Buffer {
  return attacker.request(review, { target });
}

function withChunks(...chunks: readonly string[]): Buffer {
  return attacker.request(chunks.join(''), { head: [JSON_TYPE, 'Transfer-Encoding: chunked'] });
}

/** Adds a field beside the spec of the config. */
function withField(value: string): Buffer {
  return attacker.request(review.replace('"spec":{', () => `"more":${value},"spec":{`));
}

type Case = readonly [title: string, request: Buffer, meanings: readonly string[]];

const HEADERS: readonly Case[] = [
  ['a good request', attacker.request(), ['MCG_IN_USE']],
  ['a header of 20 kB', withHead(`Content-Length: ${length}`, `X: ${'x'.repeat(20_000)}`), ['431']],
];

// Two readers must never disagree about the end of a request.
const FRAMING: readonly Case[] = [
  ['two different lengths', withHead(`Content-Length: ${length}`, 'Content-Length: 1'), ['400']],
  ['a length and chunks', withHead(`Content-Length: ${length}`, 'Transfer-Encoding: chunked'), ['400']],
  ['chunked, but not last', withHead('Transfer-Encoding: chunked, identity'), ['400']],
  // The API server announces the length. The connection closes, because each chunk costs as much as a request.
  ['chunks of one byte', withChunks(...Array.from(review, (byte) => `1\r\n${byte}\r\n`), '0\r\n\r\n'), []],
  ['a huge chunk size', withChunks(`${'F'.repeat(17)}\r\n{}\r\n0\r\n\r\n`), []],
  ['a body longer than its length', withHead(`Content-Length: ${length - 10}`), ['400']],
];

const TARGETS: readonly Case[] = [
  ['a double slash', withTarget('//validate'), ['404']],
  ['an escaped path', withTarget('/%76alidate'), ['404']],
  ['a null character', withTarget('/validate%00'), ['404']],
  ['a broken escape', withTarget('/%'), ['404']],
  ['timeouts as an object', withTarget('/validate?timeout[__proto__]=1'), ['MCG_IN_USE']],
];

const BODIES: readonly Case[] = [
  ['9,000 nested arrays', withField('['.repeat(9_000) + ']'.repeat(9_000)), ['MCG_IN_USE']],
  ['3 MiB of brackets', attacker.request('['.repeat(3 * MIB)), ['MCG_BAD_REVIEW']],
  ['a million empty arrays', withField(`[${'[],'.repeat(1_000_000)}0]`), ['MCG_BAD_REVIEW']],
  ['3 MiB of escapes', withField(`"${'\\u0041'.repeat((3 * MIB) / 6)}"`), ['MCG_IN_USE']],
  [
    'a user name of 1 MiB',
    attacker.request(attacker.review({ userInfo: { username: 'x'.repeat(MIB) } })),
    ['MCG_IN_USE'],
  ],
  ['a body that is announced with 5 MiB', withHead(`Content-Length: ${5 * MIB}`), ['MCG_BAD_REVIEW']],
  ['2,000 pipelined requests', Buffer.concat(Array.from({ length: 2_000 }, () => attacker.request())), []],
];

test.each([...HEADERS, ...FRAMING, ...TARGETS, ...BODIES])(
  'answers correctly: %s',
  async (_title, request, meanings) => {
    expect(await attacker.send(request, meanings.length)).toEqual(meanings);
  },
);
