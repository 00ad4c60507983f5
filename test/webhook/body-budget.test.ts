import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_SETTINGS, type Settings } from '../../src/decision/settings.ts';
import { type AdmissionLimits, createAdmissionApp } from '../../src/webhook/admission-app.ts';
import type { AdmissionReviewResponse } from '../../src/webhook/admission-response.ts';
import { BodyBudget } from '../../src/webhook/body-budget.ts';
import { ConnectionLimiter } from '../../src/webhook/connection-limiter.ts';
import { listen } from '../../src/webhook/tls-server.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { memoryLog } from '../support/log.ts';
import { allowReferences, allowUnused, reviewBody, UID } from '../support/review.ts';

const TIMED_OUT = 'MCG_BAD_REVIEW: the request body did not arrive in time.';

async function serve(
  limits: Partial<AdmissionLimits>,
  judge = allowUnused,
  settings: Settings = DEFAULT_SETTINGS,
) {
  const connections = new ConnectionLimiter(100);
  const options = {
    connections,
    settings: () => settings,
    log: memoryLog().log,
    isDraining: () => false,
    onDecision: () => {},
    onReferenceDecision: () => {},
    referenceJudge: { judge: allowReferences },
    limits,
  };
  const server = createServer(createAdmissionApp({ ...options, judge: { judge } }));
  server.on('connection', (socket: Socket) => connections.add(socket));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return await listen(server, 0, '127.0.0.1');
}

async function review(port: number, timeout: string, change: Record<string, unknown> = {}) {
  const url = `http://127.0.0.1:${port}/validate?timeout=${timeout}`;
  const body = JSON.stringify(reviewBody(change));
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  expect(response.status).toBe(200);
  return ((await response.json()) as AdmissionReviewResponse).response;
}

/** Sends only the first bytes of a body, and waits until the server has read them. */
async function sendPart(port: number, timeout: string, announcedBytes: number, sent: string) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const headers = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${announcedBytes}`;
  socket.write(`POST /validate?timeout=${timeout} HTTP/1.1\r\n${headers}\r\n\r\n${sent}`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await fetch(`http://127.0.0.1:${port}`);
  return socket;
}

async function sendParts(count: number, ...args: Parameters<typeof sendPart>) {
  return await Promise.all(Array.from({ length: count }, async () => await sendPart(...args)));
}

/** Serves with a judge that answers when the signal aborts. */
async function serveBlocked(limits: Partial<AdmissionLimits>, answers: AbortSignal) {
  const released = once(answers, 'abort');
  return await serve(limits, async (...args) => {
    await released;
    return await allowUnused(...args);
  });
}

const OVERLOAD = 'too many requests at once';

test('denies reviews beyond the limit as overload until others are answered', async () => {
  const answers = new AbortController();
  const port = await serveBlocked({ maxReviews: 4 }, answers.signal);
  const waiting = [review(port, '5s'), review(port, '5s')];
  await expect.poll(async () => (await review(port, '5s')).status?.message).toContain(OVERLOAD);
  expect(await review(port, '5s')).toMatchObject({ uid: UID, allowed: false });
  answers.abort();
  expect((await Promise.all(waiting)).map(({ allowed }) => allowed)).toEqual([true, true]);
  expect((await review(port, '5s')).allowed).toBe(true);
});

test('denies a review as overload if others took its place while its body arrived', async () => {
  const answers = new AbortController();
  const port = await serveBlocked({ maxReviews: 2 }, answers.signal);
  const body = JSON.stringify(reviewBody());
  const socket = await sendPart(port, '5s', body.length + 1, ' ');
  const waiting = review(port, '5s');
  await expect.poll(async () => (await review(port, '5s')).status?.message).toContain(OVERLOAD);
  socket.end(body);
  expect(await text(socket)).toContain(OVERLOAD);
  answers.abort();
  expect((await waiting).allowed).toBe(true);
});

test('answers an overload in the mode in force', async () => {
  const port = await serve({ maxReviews: 0 }, allowUnused, { mode: 'Warn', holdSupersededMs: 0 });
  expect(await review(port, '5s')).toMatchObject({ uid: UID, allowed: true });
});

test('the signal of the judge aborts at the deadline, even if the garbage collector runs', async () => {
  let isAborted = false;
  const port = await serve({}, async (asked, signal) => {
    while (!signal.aborted) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    isAborted = true;
    return await allowUnused(asked, signal);
  });
  await review(port, '1s');
  expect(isAborted).toBe(true);
});

/** Each pool has memory for one body of 20 kB. */
const ONE_LARGE_BODY = { maxBufferedBytes: 180_000, smallBodyBytes: 10_000 };
const LARGE = { padding: 'x'.repeat(20_000) };

test('a large body waits for memory while small ones pass', async () => {
  const port = await serve(ONE_LARGE_BODY);
  const first = await sendPart(port, '10s', 50_000, LARGE.padding);
  const large = review(port, '10s', LARGE);
  expect((await review(port, '10s')).allowed).toBe(true);
  first.destroy();
  expect((await large).allowed).toBe(true);
});

test('denies a large body within its deadline if there is no memory', async () => {
  const port = await serve(ONE_LARGE_BODY);
  await sendPart(port, '30s', 50_000, LARGE.padding);
  const startedAt = performance.now();
  const { allowed, status } = await review(port, '1s', LARGE);
  // Before the first body times out.
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  expect(allowed).toBe(false);
  expect(status?.message).toContain('MCG_UNVERIFIED');
});

test('announced bytes need no memory before they arrive', async () => {
  const port = await serve(ONE_LARGE_BODY);
  await sendParts(20, port, '30s', 8 * 1024 * 1024, 'x');
  expect((await review(port, '1s', LARGE)).allowed).toBe(true);
  // The first one has released its memory.
  expect((await review(port, '1s', LARGE)).allowed).toBe(true);
});

test.each([
  ['times out', { bodyTimeoutMs: 300 }],
  ['stalls while another waits', { bodyTimeoutMs: 60_000 }],
])('a body that %s is denied and releases its memory', async (_case, limits) => {
  const port = await serve({ ...ONE_LARGE_BODY, ...limits });
  const sockets = await sendParts(3, port, '30s', 50_000, 'x'.repeat(9_000));
  const answers = sockets.map(async (socket) => await text(socket));
  expect((await review(port, '10s', LARGE)).allowed).toBe(true);
  for (const answer of await Promise.all(answers)) expect(answer).toContain(TIMED_OUT);
});

test.each([
  ['the deadline of its request', '1s', {}],
  ['the limit of the server', '30s', { bodyTimeoutMs: 300 }],
])('an incomplete body is denied within %s, and its connection closes', async (_case, timeout, limits) => {
  const socket = await sendPart(await serve(limits), timeout, 500, 'x');
  const startedAt = performance.now();
  const answer = await text(socket);
  // Before the other limit.
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK[^]*connection: close[^]*"allowed":false/i);
  expect(answer).toContain(TIMED_OUT);
});

test('denies a body without a length that exceeds the limit', async () => {
  const url = `http://127.0.0.1:${await serve({ maxBodyBytes: 1024 * 1024 })}/validate`;
  const body = new Blob(['x'.repeat(2 * 1024 * 1024)]).stream();
  const response = await fetch(url, { method: 'POST', body, duplex: 'half' });
  expect(await response.text()).toContain('the request body is larger than 1 MiB');
});

test('reads many large bodies in turn if there is memory for one', async () => {
  const port = await serve(ONE_LARGE_BODY);
  const answers = await Promise.all(
    Array.from({ length: 40 }, async () => await review(port, '30s', LARGE)),
  );
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(40);
});

test('reads bodies of all sizes correctly in buffers that others have used', async () => {
  const port = await serve({});
  for (let wave = 0; wave < 10; wave += 1) {
    const uids = Array.from({ length: 20 }, (_, index) => `u-${wave}-${index}`);
    const answers = uids.map(async (uid, index) => {
      const padding = String(index % 10).repeat(5_000 * ((wave * 7 + index * 13) % 40));
      return await review(port, '30s', { uid, padding });
    });
    expect(await Promise.all(answers)).toMatchObject(uids.map((uid) => ({ uid, allowed: true })));
  }
});

test('memory that is granted while a body is given up returns to the budget', async () => {
  const MIB = 1024 * 1024;
  const budget = new BodyBudget(3 * 4 * MIB, 1_024);
  const { signal: never } = new AbortController();
  const open = () => budget.open(false, Number.NaN, () => {});
  for (let round = 0; round < 3; round += 1) {
    const abort = new AbortController();
    const holder = open();
    await holder.append(Buffer.alloc(4 * MIB), never);
    const waiter = open();
    const waiting = waiter.append(Buffer.alloc(2 * MIB), abort.signal);
    // The other body has heard of the abort, but has not been released.
    abort.signal.addEventListener('abort', () => holder.release());
    abort.abort(new Error('given up'));
    await waiting.catch(() => {});
    waiter.release();
  }
  const oldest = open();
  await oldest.append(Buffer.alloc(1), never);
  await expect(open().append(Buffer.alloc(2 * MIB), AbortSignal.timeout(1_000))).resolves.toHaveLength(
    2 * MIB,
  );
});
