import { expect, onTestFinished, test } from 'vitest';
import { SettingsFollower } from '../../src/guard/settings-follower.ts';
import { directory, fail, fakeApi, notServed, send, type FakeApi, type Handler } from '../support/fake-api.ts';
import { memoryLog } from '../support/log.ts';

const COLLECTION = '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards';
const OBJECT = `${COLLECTION}/cluster`;

interface Following extends FakeApi {
  readonly settings: SettingsFollower;
  readonly messages: () => string[];
  /** How often the object was asked for. */
  readonly looks: () => number;
}

async function follow(handler: Handler, createEveryMs = 10_000): Promise<Following> {
  const fake = await fakeApi(handler);
  const { log, lines } = memoryLog();
  const settings = new SettingsFollower({ api: fake.api, log, pollMs: 5, createEveryMs });
  const stop = new AbortController();
  const running = settings.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const looks = () => fake.asked.filter(({ path }) => path === OBJECT).length;
  return { ...fake, settings, messages: () => lines.map(({ msg }) => String(msg)), looks };
}

/** Waits until it has been asked for again some times since. */
async function someLooks({ looks }: Following): Promise<void> {
  const before = looks();
  await expect.poll(looks).toBeGreaterThan(before + 3);
}

function guardIn(mode: unknown): string {
  return JSON.stringify({ kind: 'MachineConfigGuard', metadata: { name: 'cluster' }, spec: { mode } });
}

/** As kube-apiserver answers for an object that is not there. */
const ABSENT = JSON.stringify({ kind: 'Status', status: 'Failure', code: 404, reason: 'NotFound' });

test('before anything was read, Enforce holds', () => {
  const settings = new SettingsFollower({
    api: { json: () => Promise.reject(), request: () => Promise.reject() },
    log: memoryLog().log,
  });
  expect(settings.settings).toEqual({ mode: 'Enforce', holdSupersededMs: 0 });
});

test('a change is followed, and said once', async () => {
  let mode = 'Warn';
  const it = await follow((_asked, response) => {
    send(response, guardIn(mode));
  });
  await expect.poll(() => it.settings.settings.mode).toBe('Warn');
  mode = 'Disabled';
  await expect.poll(() => it.settings.settings.mode).toBe('Disabled');
  await someLooks(it);
  expect(it.messages()).toEqual(['mode is Warn', 'mode is Disabled']);
});

test('deleted: Enforce again, and it is made anew with an empty spec', async () => {
  let there = true;
  const posted: string[] = [];
  const it = await follow((asked, response) => {
    if (asked.path === COLLECTION) {
      posted.push(asked.path);
      response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
    } else if (there) send(response, guardIn('Disabled'));
    else response.writeHead(404, { 'content-type': 'application/json' }).end(ABSENT);
  });
  await expect.poll(() => it.settings.settings.mode).toBe('Disabled');
  there = false;
  await expect.poll(() => it.settings.settings.mode).toBe('Enforce');
  await expect.poll(() => posted.length).toBe(1);
  // However often it is found absent: not a storm of attempts.
  await someLooks(it);
  expect(posted).toHaveLength(1);
});

test('not allowed to make it: said once, however often it is tried', async () => {
  const it = await follow((asked, response) => {
    if (asked.path === COLLECTION) fail(response, 403);
    else response.writeHead(404, { 'content-type': 'application/json' }).end(ABSENT);
  }, 10);
  await expect.poll(() => it.asked.filter(({ path }) => path === COLLECTION).length).toBeGreaterThan(2);
  expect(it.messages().filter((message) => message.includes('cannot be created'))).toHaveLength(1);
  expect(it.settings.settings.mode).toBe('Enforce');
});

test('the kind is not served: Enforce, said once, nothing is made', async () => {
  const it = await follow((asked, response) => {
    if (!directory(asked, response, ['/apis/apps/v1/deployments'])) notServed(response);
  });
  await expect.poll(() => it.messages()).toEqual(['machineconfigguards are not served by this cluster: Enforce holds']);
  await someLooks(it);
  expect(it.messages()).toHaveLength(1);
  expect(it.asked.some(({ path }) => path === COLLECTION)).toBe(false);
});

test.each([
  ['an error', (response: Parameters<Handler>[1]) => fail(response, 500)],
  ['no rights', (response: Parameters<Handler>[1]) => fail(response, 403)],
  ['a proxy that has lost its way', (response: Parameters<Handler>[1]) => notServed(response)],
  ['no JSON', (response: Parameters<Handler>[1]) => send(response, '<html>')],
  ['a cut connection', (response: Parameters<Handler>[1]) => void response.destroy()],
])('%s: the last known mode stays, said once, then it is followed again', async (_name, break_) => {
  let broken = false;
  const it = await follow((asked, response) => {
    if (broken) {
      // The directory goes on saying that the kind is there.
      if (asked.path === OBJECT || !directory(asked, response, [COLLECTION])) break_(response);
    } else send(response, guardIn('Audit'));
  });
  await expect.poll(() => it.settings.settings.mode).toBe('Audit');
  broken = true;
  await expect.poll(() => it.messages().filter((message) => message.includes('Audit stays'))).toHaveLength(1);
  await someLooks(it);
  expect(it.settings.settings.mode).toBe('Audit');
  expect(it.messages().filter((message) => message.includes('Audit stays'))).toHaveLength(1);
  broken = false;
  await expect.poll(() => it.messages().at(-1)).toBe('machineconfigguard cluster is followed');
});

test('never known and unreadable: Enforce', async () => {
  const it = await follow((_asked, response) => fail(response, 500));
  await expect.poll(() => it.messages()).toHaveLength(1);
  expect(it.settings.settings.mode).toBe('Enforce');
});

test('garbage of an old version: what protects, said once', async () => {
  const it = await follow((_asked, response) => {
    send(response, guardIn(false));
  });
  await expect.poll(() => it.messages()).toHaveLength(1);
  expect(it.messages()[0]).toBe(
    'machineconfigguard cluster: spec.mode false is none of Enforce, Warn, Audit, Disabled; Enforce holds',
  );
  await someLooks(it);
  expect(it.messages()).toHaveLength(1);
});
