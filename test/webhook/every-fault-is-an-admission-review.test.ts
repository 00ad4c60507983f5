import { gzipSync } from 'node:zlib';
import type { Express } from 'express';
import request from 'supertest';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import type { Review } from '../../src/decision/review.ts';
import type { Judgement } from '../../src/webhook/judgement.ts';
import { decide } from '../../src/decision/decide.ts';
import { createAdmissionApp } from '../../src/webhook/admission-app.ts';
import type { Decision } from '../../src/webhook/decision.ts';
import { memoryLog } from '../support/log.ts';
import { NAME, reviewBody, UID } from '../support/review.ts';

let app: Express;
let lines: Record<string, unknown>[];
let judged: Review[];
let decisions: Decision[];
let judge: (review: Review, signal: AbortSignal) => Promise<Judgement>;

/** Everything is free: whatever is refused here was refused because of the request alone. */
const free = async (review: Review): Promise<Judgement> =>
  await Promise.resolve({
    verdict: decide(review, { referrers: [], unreadable: [] }, DEFAULT_SETTINGS, new Date()),
    path: 'live',
  });

beforeEach(() => {
  const memory = memoryLog();
  lines = memory.lines;
  judged = [];
  decisions = [];
  judge = free;
  app = createAdmissionApp({
    log: memory.log,
    draining: () => false,
    onDecision: (decision) => void decisions.push(decision),
    judge: {
      judge: async (review, signal) => {
        judged.push(review);
        return await judge(review, signal);
      },
    },
  });
});

interface Answer {
  readonly kind: string;
  readonly apiVersion: string;
  readonly response: { uid: string; allowed: boolean; status?: { code: number; message: string; reason: string } };
}

function answerOf(response: { status: number; body: unknown; headers: Record<string, string> }): Answer {
  expect(response.status).toBe(200);
  expect(response.headers['content-type']).toMatch(/^application\/json/);
  const answer = response.body as Answer;
  expect(answer).toMatchObject({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' });
  return answer;
}

function post(body: string | Buffer, headers: Record<string, string> = { 'content-type': 'application/json' }) {
  return request(app)
    .post('/validate?timeout=5s')
    .set(headers)
    .serialize((sent: unknown) => sent as string)
    .send(body);
}

test('control: a good review of a free config is allowed, and the decision reported once', async () => {
  const answer = answerOf(await post(JSON.stringify(reviewBody())));
  expect(answer.response).toMatchObject({ uid: UID, allowed: true });
  expect(decisions).toMatchObject([{ uid: UID, name: NAME, user: 'kube:admin', path: 'live', dryRun: false }]);
});

describe('refused as MCG_BAD_REVIEW, not judged, not logged with a stack', () => {
  const good = JSON.stringify(reviewBody());
  test.each<[string, string | Buffer, string]>([
    ['empty', '', ''],
    ['not JSON', 'hello', ''],
    ['truncated', good.slice(0, -3), ''],
    ['a form', 'a=b', ''],
    ['invalid UTF-8', Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')]), ''],
    ['wrong kind', JSON.stringify({ ...reviewBody(), kind: 'ConversionReview' }), UID],
    ['missing uid', JSON.stringify(reviewBody({ uid: undefined })), ''],
    ['missing oldObject', JSON.stringify(reviewBody({ oldObject: undefined })), UID],
    ['null oldObject', JSON.stringify(reviewBody({ oldObject: null })), UID],
    ['9 MiB', JSON.stringify(reviewBody({ padding: 'x'.repeat(9 * 1024 * 1024) })), ''],
    ['deep JSON', '['.repeat(1_000_000), ''],
  ])('%s', async (_title, body, uid) => {
    const answer = answerOf(await post(body));
    expect(answer.response).toMatchObject({ uid, allowed: false, status: { code: 400, reason: 'BadRequest' } });
    expect(answer.response.status?.message).toMatch(/^MCG_BAD_REVIEW: \w.* See https:\/\/\S+#mcg_bad_review$/);
    expect(judged).toEqual([]);
    expect(JSON.stringify(lines)).not.toMatch(/\bat .*\.ts:\d/);
  });

  test.each([
    ['a wrong content type', { 'content-type': 'text/plain' }, UID],
    ['no content type', {}, UID],
    [
      'an announced compression that is not there',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      '',
    ],
  ])('%s', async (_title, headers, uid) => {
    const answer = answerOf(await post(good, headers));
    expect(answer.response).toMatchObject({ uid, allowed: false, status: { code: 400 } });
    expect(judged).toEqual([]);
  });

  test('a compressed body', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const answer = answerOf(await post(gzipSync(good), headers));
    expect(answer.response.allowed).toBe(false);
    expect(answer.response.status?.message).toContain('the request body is compressed');
  });
});

test('a content type with a charset is fine', async () => {
  const answer = answerOf(
    await post(JSON.stringify(reviewBody()), { 'content-type': 'application/json; charset=utf-8' }),
  );
  expect(answer.response.allowed).toBe(true);
});

test('a rendered config just below 8 MiB is read', async () => {
  const oldObject = { metadata: { name: NAME, uid: 'c' }, spec: { config: 'x'.repeat(8 * 1024 * 1024 - 2_000) } };
  const answer = answerOf(await post(JSON.stringify(reviewBody({ oldObject }))));
  expect(answer.response).toMatchObject({ uid: UID, allowed: true });
});

test('an error inside the judge is a refusal, with the uid where it is known by then, and no detail for the client', async () => {
  judge = async () => await Promise.reject(new Error('secret detail'));
  const answer = answerOf(await post(JSON.stringify(reviewBody())));
  expect(answer.response).toMatchObject({ allowed: false, status: { code: 503 } });
  expect(JSON.stringify(answer)).not.toContain('secret detail');
  expect(lines.some(({ msg }) => msg === 'a review could not be answered')).toBe(true);
});

test('a decision that cannot be recorded changes no answer and ends nothing', async () => {
  const memory = memoryLog();
  const forgetful = createAdmissionApp({
    log: memory.log,
    draining: () => false,
    onDecision: () => {
      throw new Error('no room');
    },
    judge: { judge: free },
  });
  for (let time = 0; time < 2; time += 1) {
    const response = await request(forgetful)
      .post('/validate')
      .set('content-type', 'application/json')
      .send(JSON.stringify(reviewBody()));
    expect(answerOf(response).response.allowed).toBe(true);
  }
  expect(memory.lines).toMatchObject([
    { msg: 'a decision could not be recorded', err: { message: 'no room' } },
    { msg: 'a decision could not be recorded' },
  ]);
});

test.each([
  ['another path', 'post', '/', 404],
  ['a deeper path', 'post', '/validate/x', 404],
  ['another case', 'post', '/Validate', 404],
  ['a slash at the end', 'post', '/validate/', 404],
  ['GET', 'get', '/validate', 405],
  ['PUT', 'put', '/validate', 405],
  ['DELETE', 'delete', '/validate', 405],
] as const)('%s: %s %s answers %d in plain text', async (_title, method, path, status) => {
  const response = await request(app)[method](path);
  expect(response.status).toBe(status);
  expect(response.text).toMatch(/the guard answers POST \/validate\n$/);
  expect(response.headers).not.toHaveProperty('x-powered-by');
  if (status === 405) expect(response.headers['allow']).toBe('POST');
});

test('while draining, the client is asked not to come back on this connection', async () => {
  const draining = createAdmissionApp({
    log: memoryLog().log,
    draining: () => true,
    onDecision: () => {},
    judge: { judge: free },
  });
  const response = await request(draining)
    .post('/validate')
    .set('content-type', 'application/json')
    .send(JSON.stringify(reviewBody()));
  expect(response.headers['connection']).toBe('close');
  expect(answerOf(response).response.allowed).toBe(true);
});
