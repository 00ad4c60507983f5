import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import type { Review } from '../../src/decision/review.ts';
import type { Judgement } from '../../src/webhook/judgement.ts';
import { decide } from '../../src/decision/decide.ts';
import { createAdmissionApp, type AdmissionLimits } from '../../src/webhook/admission-app.ts';
import type { Judge } from '../../src/guard/judge.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { memoryLog } from '../support/log.ts';
import { reviewBody } from '../support/review.ts';

let server: Server | undefined;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.closeAllConnections();
  server?.close();
});

async function serve(limits: Partial<AdmissionLimits>, judge: Judge['judge']): Promise<string> {
  const app = createAdmissionApp({
    log: memoryLog().log,
    draining: () => false,
    onDecision: () => {},
    judge: { judge },
    limits,
  });
  const listening = createServer(app);
  server = listening;
  await new Promise<void>((resolve) => {
    listening.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

const free = async (review: Review): Promise<Judgement> =>
  await Promise.resolve({
    verdict: decide(review, { referrers: [], unreadable: [] }, DEFAULT_SETTINGS, new Date()),
    path: 'live',
  });

interface Answer {
  response: { uid: string; allowed: boolean; status?: { message: string } };
}

async function review(url: string, timeout: string, change: Record<string, unknown> = {}): Promise<Answer> {
  const response = await fetch(`${url}/validate?timeout=${timeout}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(reviewBody(change)),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

/** A client that announces a body and sends only its beginning. */
function slowClient(url: string, timeout: string, length: number, beginning = '{"kind"'): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.write(
    `POST /validate?timeout=${timeout} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${beginning}`,
  );
  return socket;
}

/** Waits until what was sent before has been read: a later request on the same machine has been answered. */
async function arrived(url: string): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 100));
  await fetch(url);
}

test('more reviews than can be under way are refused at once, and free places are used again', async () => {
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const url = await serve({ reviews: 2 }, async (asked) => {
    await held;
    return await free(asked);
  });
  const waiting = [review(url, '5s'), review(url, '5s')];
  await expect
    .poll(async () => (await review(url, '5s')).response.status?.message)
    .toContain('too many requests at once');
  const refused = await review(url, '5s');
  expect(refused.response).toMatchObject({ uid: '', allowed: false });
  release?.();
  expect((await Promise.all(waiting)).map(({ response }) => response.allowed)).toEqual([true, true]);
  expect((await review(url, '5s')).response.allowed).toBe(true);
});

test('the time for reading ends in time, whatever the garbage collector does meanwhile', async () => {
  let isOver = false;
  const url = await serve({}, async (asked, signal) => {
    while (!signal.aborted) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    isOver = true;
    return await free(asked);
  });
  await review(url, '1s');
  expect(isOver).toBe(true);
});

/** Room for one body of 20 kB, and for small ones up to 10 kB beside it. */
const ROOM = { heldBytes: 30_000, smallBodyBytes: 10_000 };
const LARGE = { padding: 'x'.repeat(20_000) };

test('a large body waits until there is room and is then read; small ones pass', async () => {
  const url = await serve(ROOM, free);
  const first = slowClient(url, '10s', 50_000, 'x'.repeat(20_000));
  await arrived(url);
  const large = review(url, '10s', LARGE);
  expect((await review(url, '10s')).response.allowed).toBe(true);
  first.destroy();
  expect((await large).response.allowed).toBe(true);
});

test('a body that did not arrive in time takes no room away afterwards', async () => {
  const url = await serve({ ...ROOM, bodyMs: 300 }, free);
  const slow = Array.from({ length: 3 }, async () => text(slowClient(url, '30s', 50_000, 'x'.repeat(9_000))));
  for (const answer of await Promise.all(slow)) expect(answer).toContain('did not arrive in time');
  expect((await review(url, '30s', LARGE)).response.allowed).toBe(true);
});

test('bodies that have stalled give way to one that waits, and are told so', async () => {
  const url = await serve({ ...ROOM, bodyMs: 60_000 }, free);
  const stalled = Array.from({ length: 3 }, async () => text(slowClient(url, '30s', 50_000, 'x'.repeat(9_000))));
  await arrived(url);
  expect((await review(url, '10s', LARGE)).response.allowed).toBe(true);
  for (const answer of await Promise.all(stalled)) expect(answer).toContain('did not arrive in time');
});

test('a large body for which there is no room is refused within its time', async () => {
  const url = await serve(ROOM, free);
  slowClient(url, '30s', 50_000, 'x'.repeat(20_000));
  await arrived(url);
  const begun = performance.now();
  const answer = await review(url, '1s', LARGE);
  expect(performance.now() - begun).toBeLessThan(1_000);
  expect(answer.response).toMatchObject({ allowed: false });
  expect(answer.response.status?.message).toContain('MCG_UNVERIFIED');
});

test('bodies that were announced and do not come take no room away', async () => {
  const url = await serve(ROOM, free);
  for (let index = 0; index < 20; index += 1) slowClient(url, '30s', 8 * 1024 * 1024);
  await arrived(url);
  expect((await review(url, '5s', LARGE)).response.allowed).toBe(true);
});

test('many large bodies at once, more than there is room for, are all read, each in its turn', async () => {
  const url = await serve({ heldBytes: 100_000, smallBodyBytes: 1_000 }, free);
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => review(url, '30s', { padding: 'x'.repeat(90_000) })),
  );
  expect(answers.filter(({ response }) => response.allowed)).toHaveLength(40);
});

test('bodies whose room was that of others before are read as what they are', async () => {
  const url = await serve({}, free);
  const ask = async (wave: number, index: number) => {
    const uid = `u-${wave}-${index}`;
    const padding = String(index % 10).repeat(5_000 * ((wave * 7 + index * 13) % 40));
    return { uid, answer: await review(url, '30s', { uid, padding }) };
  };
  for (let wave = 0; wave < 10; wave += 1) {
    const asked = await Promise.all(Array.from({ length: 20 }, (_, index) => ask(wave, index)));
    expect(asked.map(({ answer }) => answer.response.uid)).toEqual(asked.map(({ uid }) => uid));
    expect(asked.every(({ answer }) => answer.response.allowed)).toBe(true);
  }
});

test('a caller with a long timeout has no longer for its body', async () => {
  const url = await serve({ bodyMs: 300 }, free);
  const begun = performance.now();
  expect(await text(slowClient(url, '30s', 500))).toContain('MCG_BAD_REVIEW: the request body did not arrive in time.');
  expect(performance.now() - begun).toBeLessThan(5_000);
});

test('a body that does not arrive is answered within its time, and the connection given up', async () => {
  const url = await serve({}, free);
  const begun = performance.now();
  const answer = await text(slowClient(url, '1s', 500));
  expect(performance.now() - begun).toBeLessThan(1_000);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(answer).toMatch(/connection: close/i);
  expect(answer).toContain('MCG_BAD_REVIEW: the request body did not arrive in time.');
  expect(answer).toContain('"allowed":false');
});
