import { afterAll, expect, test } from 'vitest';

import { ALLOW_DELETION_ANNOTATION } from '../../../src/decision/settings.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = 'Content-Type: application/json';
/** Few enough that the guard looks up the config of each one in time. */
const PARALLEL_REVIEWS = 10;
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
test.each<readonly [title: string, request: Buffer, meanings: readonly string[]]>([
  ['a good request', attacker.request(), ['MCG_IN_USE']],
  ['a header of 20 kB', withHead(`Content-Length: ${length}`, `X: ${'x'.repeat(20_000)}`), ['431']],
  ['two different lengths', withHead(`Content-Length: ${length}`, 'Content-Length: 1'), ['400']],
  ['a length and chunks', withHead(`Content-Length: ${length}`, 'Transfer-Encoding: chunked'), ['400']],
  ['chunked, but not last', withHead('Transfer-Encoding: chunked, identity'), ['400']],
  // The API server announces the length. The connection closes, because each chunk costs as much as a request.
  ['chunks of one byte', withChunks(...Array.from(review, (byte) => `1\r\n${byte}\r\n`), '0\r\n\r\n'), []],
  ['a body longer than its length', withHead(`Content-Length: ${length - 10}`), ['400']],
  ['a body that is announced with 5 MiB', withHead(`Content-Length: ${5 * MIB}`), ['MCG_BAD_REVIEW']],
  ['2,000 pipelined requests', Buffer.concat(Array.from({ length: 2_000 }, () => attacker.request())), []],
  ['a null character in the path', attacker.request(review, { target: '/validate%00' }), ['404']],
])('answers correctly: %s', async (_title, request, meanings) => {
  expect(await attacker.send(request, meanings.length)).toEqual(meanings);
});

test('forged reviews read no list, write no Event and are counted apart', async () => {
  const reason = { [ALLOW_DELETION_ANNOTATION]: 'forged' };
  const readLists = () => guarded.readMetric('mcguard_live_reads_total');
  const lists = await readLists();
  const reviews = Array.from({ length: 100 }, (_, index) =>
    attacker.forgedReview(index % 2 === 0 ? { annotations: reason } : { user: `user-${index}` }),
  );
  for (let index = 0; index < reviews.length; index += PARALLEL_REVIEWS) {
    const batch = reviews.slice(index, index + PARALLEL_REVIEWS);
    const answers = await Promise.all(batch.map((forged) => attacker.send(attacker.request(forged))));
    expect(new Set(answers.flat())).toEqual(new Set(['MCG_UNVERIFIED']));
  }
  expect(await readLists()).toBe(lists);
  expect(await guarded.readMetric('mcguard_missing_config_reviews_total')).toBeGreaterThanOrEqual(reviews.length);
  const events = await attacker.cluster.admin.list('/apis/events.k8s.io/v1/events');
  expect(JSON.stringify(events)).not.toMatch(/forged|user-\d/);
}, 120_000);
