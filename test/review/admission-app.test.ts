import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Express } from 'express';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { denyBadReview } from '../../src/review/decide.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../src/api/settings.ts';
import { computeDeadlineMs, createAdmissionApp } from '../../src/review/admission-app.ts';
import { listen } from '../../src/serving/tls-server.ts';
import { memoryLog } from '../support/log.ts';
import { allowUnused, NAME, reviewBody, UID } from '../support/review.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import type { AdmissionReviewResponse } from '../../src/review/admission-response.ts';
import type { AnsweredCall, JudgedReview, ReviewJudge } from '../../src/review/review.ts';
import { buildWebhookConfiguration } from '../support/webhook-configuration.ts';
import { LOOK_UP_TIMEOUT_MS } from '../../src/references/config-index.ts';
import { CONFIRM_TIMEOUT_MS } from '../../src/review/judge.ts';

const JSON_TYPE = { 'content-type': 'application/json', connection: 'keep-alive' };
const GOOD = JSON.stringify(reviewBody());
/** Of the client. The guard listens on another one. */
const ADDRESS = '127.0.0.2';
const MIB = 1024 * 1024;
const AUDIT: Settings = { mode: 'Audit', holdSupersededMs: 0 };

let app: Express;
let lines: Record<string, unknown>[];
let answers: (JudgedReview & AnsweredCall)[];
let judgeCalls: number;
let judge: ReviewJudge['judge'];
let onAnswer: (answer: JudgedReview & AnsweredCall) => void;
const serving = { isDraining: false };
const followed = { settings: DEFAULT_SETTINGS };

beforeEach(() => {
  answers = [];
  judgeCalls = 0;
  judge = allowUnused;
  onAnswer = (answer) => void answers.push(answer);
  serving.isDraining = false;
  followed.settings = DEFAULT_SETTINGS;
  app = createApp();
});

function createApp() {
  const memory = memoryLog();
  ({ lines } = memory);
  return createAdmissionApp({
    log: memory.log,
    serving,
    settings: followed,
    recorder: { record: (judged, call) => onAnswer({ ...judged, ...call }) },
    judge: {
      judge: async (review, signal) => {
        judgeCalls += 1;
        return await judge(review, signal);
      },
    },
  });
}

// An answer is recorded in the next turn of the event loop.
afterEach(async () => await nextTurn());

async function post(body = GOOD, headers: Record<string, string> = JSON_TYPE) {
  const sent = request(app)
    .post('/validate?timeout=30s')
    .agent(new Agent({ localAddress: ADDRESS, keepAlive: true }))
    .set(headers)
    .serialize(String)
    .send(body);
  const { status, headers: answered, body: answer } = await sent;
  expect(status).toBe(200);
  expect(answered['content-type']).toMatch(/^application\/json/);
  expect(answer).toMatchObject({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' });
  return { ...(answer as AdmissionReviewResponse).response, connection: answered['connection'] };
}

const LARGE = JSON.stringify(reviewBody({ padding: 'x'.repeat(4 * MIB - 2_000) }));
const WITH_CHARSET = { ...JSON_TYPE, 'content-type': 'application/json; charset=utf-8' };

test.each([
  ['a review', GOOD, JSON_TYPE, false],
  ['a body of almost 4 MiB, with a charset', LARGE, WITH_CHARSET, false],
  ['an authorization', GOOD, { ...JSON_TYPE, authorization: 'Bearer of-the-api-server' }, true],
])('allows the deletion of an unused config, and reports one answer, with %s', async (_case, body, headers, has) => {
  const response = await post(body, headers);
  expect(response).toMatchObject({ uid: UID, allowed: true, connection: 'keep-alive' });
  const address = expect.stringMatching(ADDRESS) as string;
  const review = { uid: UID, user: 'kube:admin' };
  const answer = { review, verdict: { config: NAME }, address, hasAuthorization: has };
  await expect.poll(() => answers).toMatchObject([answer]);
  expect(JSON.stringify([answers, lines])).not.toContain('of-the-api-server');
});

test.each<[string, string, string, Record<string, string>]>([
  ['a truncated body', GOOD.slice(0, -3), UID, JSON_TYPE],
  ['another content type', GOOD, UID, { 'content-type': 'text/plain' }],
  ['the header of a compressed body', GOOD, '', { ...JSON_TYPE, 'content-encoding': 'gzip' }],
  ['no body', '', '', JSON_TYPE],
])('denies %s as MCG_BAD_REVIEW without the judge, in every mode', async (_case, body, uid, headers) => {
  for (const mode of [DEFAULT_SETTINGS, AUDIT]) {
    followed.settings = mode;
    const response = await post(body, headers);
    expect(response).toMatchObject({ uid, allowed: false, status: { code: 400, reason: 'BadRequest' } });
    expect(response.status?.message).toMatch(
      /^MCG_BAD_REVIEW: \w.* explain MCG_BAD_REVIEW, or see https:\/\/\S+#mcg_bad_review$/,
    );
  }
  expect(judgeCalls).toBe(0);
  await expect.poll(() => answers.map(({ verdict }) => verdict.code)).toEqual(Array(2).fill('MCG_BAD_REVIEW'));
});

test('answers in the mode in force after an error of the judge, and logs the error without sending it', async () => {
  judge = async () => await Promise.reject(new Error('secret detail'));
  const response = await post();
  expect(response).toMatchObject({ uid: UID, allowed: false, status: { code: 503 } });
  expect(response.status?.message).toContain(`whether ${NAME} is in use (the guard: internal error)`);
  expect(JSON.stringify(response)).not.toContain('secret detail');
  expect(lines).toMatchObject([{ msg: 'cannot answer a review', err: { message: 'secret detail' } }]);
  await expect.poll(() => answers).toMatchObject([{ verdict: { code: 'MCG_UNVERIFIED' } }]);
  followed.settings = AUDIT;
  expect(await post()).toMatchObject({ uid: UID, allowed: true });
});

test('answers the next review after it cannot record an answer', async () => {
  onAnswer = () => {
    throw new Error('full');
  };
  await post();
  expect((await post()).allowed).toBe(true);
  const line = { msg: 'cannot record a decision', err: { message: 'full' } };
  await expect.poll(() => lines).toMatchObject([line, line]);
});

describe('a body that does not arrive', () => {
  /** Serves over TCP, so that a test can send parts of a request. Only the test lets time pass. */
  async function serve() {
    fakeUntilEnd('setTimeout', 'clearTimeout');
    const server = createServer(app);
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return await listen(server, 0, '127.0.0.1');
  }

  /** Sends the head and the first bytes of a body in a packet of their own each, and returns the connection. */
  function send(port: number, announcedBytes: number, sent: string, timeout = '30s') {
    const headers = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${announcedBytes}`;
    const socket = connect(port, '127.0.0.1').setNoDelay();
    onTestFinished(() => void socket.destroy());
    socket.write(`POST /validate?timeout=${timeout} HTTP/1.1\r\n${headers}\r\n\r\n${sent}`);
    return socket;
  }

  const START = GOOD.slice(0, 200);

  test.each([
    ['the deadline of its request', '1s', 760, DEFAULT_SETTINGS],
    ['the limit of the server', '30s', 5_000, DEFAULT_SETTINGS],
    ['the limit in mode Audit, because the guard can be the cause of the delay', '30s', 5_000, AUDIT],
  ])('is answered at %s with the uid, and its connection closes', async (_case, timeout, ms, mode) => {
    followed.settings = mode;
    const port = await serve();
    const answered = text(send(port, 9_000, START, timeout));
    while (vi.getTimerCount() === 0) await nextTurn();
    vi.advanceTimersByTime(ms - 1);
    await nextTurn();
    await nextTurn();
    expect(answers).toEqual([]);
    vi.advanceTimersByTime(1);
    const answer = await answered;
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK[^]*connection: close/i);
    expect(answer).toContain(`"uid":"${UID}","allowed":${mode === AUDIT}`);
    const message = 'whether the config is in use (the guard: the request body did not arrive in time)';
    await expect.poll(() => answers).toMatchObject([{ review: { uid: UID } }]);
    expect(answers[0]?.verdict.message).toContain(`MCG_UNVERIFIED: could not verify ${message}`);
  });

  test('evicts the oldest body for later bodies beyond 16 MiB', async () => {
    const port = await serve();
    const ends: Promise<string>[] = [];
    for (let index = 0; index < 5; index += 1) {
      const socket = send(port, 4 * MIB, '');
      ends.push(text(socket).catch(() => ''));
      await new Promise((resolve) => socket.write(START + 'x'.repeat(4 * MIB - START.length - 1), resolve));
    }
    expect(await ends[0]).toContain('the guard: too many requests at once');
    expect(await text(send(port, GOOD.length, GOOD).end())).toContain('"allowed":true');
    await expect.poll(() => answers.map(({ verdict }) => verdict.code)).toContain('MCG_UNVERIFIED');
  });

  test('is not evicted for 20 MiB of bodies that arrived whole meanwhile', async () => {
    const port = await serve();
    const slow = send(port, GOOD.length, START);
    for (let count = 0; count < 5; count += 1)
      expect(await text(send(port, 4 * MIB, GOOD.padEnd(4 * MIB)).end())).toContain('"allowed":true');
    expect(await text(slow.end(GOOD.slice(START.length)))).toContain('"allowed":true');
  });

  test('is denied if its length is unknown', async () => {
    const socket = connect(await serve(), '127.0.0.1');
    socket.end('POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n');
    expect(await text(socket)).toContain('MCG_BAD_REVIEW: the request does not say how long its body is');
  });

  test('is given up after 1,000 pieces', async () => {
    const socket = send(await serve(), MIB, START);
    const answered = text(socket);
    const isOver = answered.then(() => true);
    // Each piece waits for the one before, or the kernel would join them.
    for (let piece = 0; socket.writable; piece += 1) {
      expect(piece).toBeLessThan(50_000);
      socket.write('x');
      if (await Promise.race([isOver, nextTurn(false)])) break;
    }
    expect(await answered).toContain('the guard: the request body has more than 1000 pieces');
  });

  test('gets no answer and no record if the client closes the connection while the guard decides', async () => {
    const port = await serve();
    judge = async (review, signal) => {
      judge = allowUnused;
      socket.destroy();
      await once(signal, 'abort');
      return { ...(await allowUnused(review, signal)), verdict: denyBadReview('late') };
    };
    const socket = send(port, GOOD.length, GOOD);
    await expect.poll(() => judge).toBe(allowUnused);
    await once(send(port, GOOD.length, GOOD), 'data');
    await expect.poll(() => answers.map(({ verdict }) => verdict.code)).toEqual(['MCG_NOT_IN_USE']);
    expect(lines).toEqual([]);
  });
});

test.each([
  ['76 % of the timeout', '5s', 3_800],
  ['76 % of 1 s', '1s', 760],
  ['at most 76 % of 30 s', '999s', 22_800],
  ['76 % of 10 s if the timeout is not in seconds', '2ms', 7_600],
  ['76 % of 10 s if the timeout is zero', '0s', 7_600],
  ['76 % of 10 s if there are two timeouts', ['5s', '1s'], 7_600],
])('the deadline is %s (%j)', (_case, timeout, deadlineMs) => {
  expect(computeDeadlineMs(timeout)).toBe(deadlineMs);
});

test('leaves the live read half a second after the slowest look-up and confirmation', () => {
  const clientConfig = { url: 'https://127.0.0.1/validate', caBundle: '' };
  const { webhooks } = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  const deadlineMs = computeDeadlineMs(`${webhooks[0]?.timeoutSeconds}s`);
  expect(deadlineMs).toBe(3_800);
  expect(deadlineMs - LOOK_UP_TIMEOUT_MS - CONFIRM_TIMEOUT_MS).toBeGreaterThanOrEqual(500);
});
