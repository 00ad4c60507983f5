import type { RequestListener } from 'node:http';
import express, { type Express } from 'express';
import request from 'supertest';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS, type Settings } from '../../src/decision/settings.ts';
import { createAdmissionApp } from '../../src/webhook/admission-app.ts';
import { ConnectionLimiter } from '../../src/webhook/connection-limiter.ts';
import type { AdmissionReviewResponse } from '../../src/webhook/admission-response.ts';
import type { Decision } from '../../src/webhook/decision.ts';
import type { ReviewJudge } from '../../src/webhook/judgement.ts';
import { memoryLog } from '../support/log.ts';
import { allowReferences, allowUnused, NAME, nodeUpdateBody, reviewBody, UID } from '../support/review.ts';

const JSON_TYPE = { 'content-type': 'application/json', connection: 'keep-alive' };
const GOOD = JSON.stringify(reviewBody());
const NODE_UPDATE = JSON.stringify(nodeUpdateBody());

let app: Express;
let lines: Record<string, unknown>[];
let decisions: Decision[];
let judgeCalls: number;
let judge: ReviewJudge['judge'];
let referenceJudge: typeof allowReferences;
let onDecision: (decision: Decision) => void;
let isDraining: boolean;
let settings: Settings;

beforeEach(() => {
  const memory = memoryLog();
  ({ lines } = memory);
  decisions = [];
  judgeCalls = 0;
  judge = allowUnused;
  referenceJudge = allowReferences;
  onDecision = (decision) => void decisions.push(decision);
  isDraining = false;
  settings = DEFAULT_SETTINGS;
  app = createAdmissionApp({
    log: memory.log,
    isDraining: () => isDraining,
    settings: () => settings,
    connections: new ConnectionLimiter(100),
    onDecision: (decision) => onDecision(decision),
    referenceJudge: { judge: async (review, signal) => await referenceJudge(review, signal) },
    onReferenceDecision: (decision) => onDecision(decision),
    judge: {
      judge: async (review, signal) => {
        judgeCalls += 1;
        return await judge(review, signal);
      },
    },
  });
});

async function post(
  body = GOOD,
  headers: Record<string, string> = JSON_TYPE,
  target: RequestListener = app,
  path = '/validate',
) {
  const sent = request(target).post(`${path}?timeout=5s`).set(headers).serialize(String).send(body);
  const { status, headers: answered, body: answer } = await sent;
  expect(status).toBe(200);
  expect(answered['content-type']).toMatch(/^application\/json/);
  expect(answer).toMatchObject({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' });
  return { ...(answer as AdmissionReviewResponse).response, connection: answered['connection'] };
}

test('allows the deletion of an unused config and records one decision', async () => {
  expect(await post()).toMatchObject({ uid: UID, allowed: true, connection: 'keep-alive' });
  expect(decisions).toMatchObject([
    { uid: UID, name: NAME, user: 'kube:admin', path: 'live', isDryRun: false },
  ]);
});

test.each<[string, string, string, Record<string, string>]>([
  ['a truncated body', GOOD.slice(0, -3), UID, JSON_TYPE],
  ['9 MiB', JSON.stringify(reviewBody({ padding: 'x'.repeat(9 * 1024 * 1024) })), '', JSON_TYPE],
  ['another content type', GOOD, UID, { 'content-type': 'text/plain' }],
  ['the header of a compressed body', GOOD, '', { ...JSON_TYPE, 'content-encoding': 'gzip' }],
])(
  'denies %s as MCG_BAD_REVIEW without the judge or a stack in the log',
  async (_case, body, uid, headers) => {
    const response = await post(body, headers);
    expect(response).toMatchObject({ uid, allowed: false, status: { code: 400, reason: 'BadRequest' } });
    expect(response.status?.message).toMatch(
      /^MCG_BAD_REVIEW: \w.* explain MCG_BAD_REVIEW, or see https:\/\/\S+#mcg_bad_review$/,
    );
    expect(judgeCalls).toBe(0);
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toMatch(/\bat .*\.ts:\d/);
  },
);

test('accepts a body of almost 8 MiB, and a content type with a charset', async () => {
  const body = JSON.stringify(reviewBody({ padding: 'x'.repeat(8 * 1024 * 1024 - 2_000) }));
  expect((await post(body, { 'content-type': 'application/json; charset=utf-8' })).allowed).toBe(true);
});

test('denies after an error of the judge, and logs the error without sending it', async () => {
  judge = async () => await Promise.reject(new Error('secret detail'));
  const response = await post();
  expect(response).toMatchObject({ uid: UID, allowed: false, status: { code: 503 } });
  expect(JSON.stringify(response)).not.toContain('secret detail');
  expect(lines).toMatchObject([{ msg: 'cannot answer a review', err: { message: 'secret detail' } }]);
});

test('answers after an error of the judge in the mode in force', async () => {
  settings = { mode: 'Audit', holdSupersededMs: 0 };
  judge = async () => await Promise.reject(new Error('broken'));
  expect(await post()).toMatchObject({ uid: UID, allowed: true });
});

test('answers the next review after it cannot record a decision', async () => {
  onDecision = () => {
    throw new Error('full');
  };
  await post();
  expect((await post()).allowed).toBe(true);
  const line = { msg: 'cannot record a decision', err: { message: 'full' } };
  await expect.poll(() => lines).toMatchObject([line, line]);
});

test('answers all reviews of one turn of the event loop before it records a decision', async () => {
  const judged: (() => void)[] = [];
  judge = async (review, signal) => {
    await new Promise<void>((resolve) => {
      judged.push(resolve);
      if (judged.length === 3) for (const answer of judged) answer();
    });
    return await allowUnused(review, signal);
  };
  const responses: { readonly headersSent: boolean }[] = [];
  const answeredCounts: number[] = [];
  onDecision = () => void answeredCounts.push(responses.filter(({ headersSent }) => headersSent).length);
  const server = express().use((_request, response, next) => {
    responses.push(response);
    next();
  }, app);
  await Promise.all([1, 2, 3].map(async () => await post(GOOD, JSON_TYPE, server)));
  await expect.poll(() => answeredCounts).toEqual([3, 3, 3]);
});

test.each([
  ['post', '/Validate', 404],
  ['post', '/validate/', 404],
  ['get', '/validate', 405],
  ['get', '/validate-references', 405],
] as const)('answers %s %s with %d in plain text', async (method, path, status) => {
  const response = await request(app)[method](path);
  expect(response.status).toBe(status);
  expect(response.text).toMatch(/the guard answers POST \/validate and \/validate-references\n$/);
  expect(response.headers).not.toHaveProperty('x-powered-by');
  expect(response.headers['allow']).toBe(status === 405 ? 'POST' : undefined);
});

test('closes the connection of each answer while it drains', async () => {
  isDraining = true;
  expect(await post()).toMatchObject({ allowed: true, connection: 'close' });
});

describe('the path of references', () => {
  const postUpdate = async (body = NODE_UPDATE) =>
    await post(body, JSON_TYPE, app, '/validate-references');

  test('answers an update of a node with the decision of the reference judge', async () => {
    expect(await postUpdate()).toEqual({
      uid: UID,
      allowed: true,
      auditAnnotations: {
        allowed: JSON.stringify({
          name: NAME,
          code: 'MCG_KNOWN_CONFIG',
          referrers: [{ kind: 'Node', name: 'worker-0', field: 'desiredConfig' }],
          more: 0,
        }),
      },
      connection: 'keep-alive',
    });
    expect(judgeCalls).toBe(0);
    expect(decisions).toMatchObject([{ uid: UID, name: NAME, user: 'kube:admin', path: 'index' }]);
  });

  test.each([
    ['a truncated body', NODE_UPDATE.slice(0, -3)],
    ['more than 8 MiB', JSON.stringify(nodeUpdateBody({ padding: 'x'.repeat(9 * 1024 * 1024) }))],
    ['a node without a name', JSON.stringify(nodeUpdateBody({ object: { metadata: {} } }))],
  ])('allows %s, because an update of a node must not fail', async (_case, body) => {
    const response = await postUpdate(body);
    expect(response).toMatchObject({
      allowed: true,
      warnings: [expect.stringMatching(/^MCG_UNCHECKED: /)],
    });
    expect(lines).toMatchObject([{ msg: 'received a malformed review' }]);
  });

  test('allows after an error of the judge', async () => {
    referenceJudge = async () => await Promise.reject(new Error('secret detail'));
    expect(await postUpdate()).toMatchObject({
      uid: UID,
      allowed: true,
      warnings: ['MCG_UNCHECKED: could not check the update: internal error'],
    });
  });

  test('does not judge a deletion, and the path of deletions judges no update', async () => {
    referenceJudge = async (review) => {
      expect(review.references).toEqual([]);
      return await allowReferences(review, new AbortController().signal);
    };
    expect((await postUpdate(GOOD)).allowed).toBe(true);
    expect(await post(NODE_UPDATE)).toMatchObject({ allowed: true });
    expect(decisions.map(({ verdict }) => verdict.code)).toEqual(['MCG_KNOWN_CONFIG', 'MCG_NOT_IN_USE']);
  });
});
