import { getEventListeners } from 'node:events';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { NEVER_ABORTED } from '../../src/common/wait.ts';
import { SharedGets } from '../../src/references/shared-gets.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

let gets: SharedGets<string>;
let sent: { readonly key: string; readonly answer: (text: string) => void; readonly fail: (error: Error) => void }[];

beforeEach(() => {
  gets = new SharedGets();
  sent = [];
});

async function get(key = 'a', signal = new AbortController().signal) {
  const send = async (limited: AbortSignal) =>
    await new Promise<string>((answer, fail) => {
      sent.push({ key, answer, fail });
      limited.addEventListener('abort', () => fail(limited.reason as Error));
    });
  return await gets.get(key, send, signal);
}

/** Answers the GET of this number, when it has been sent. */
async function answer(index: number, text: string) {
  await expect.poll(() => sent.length).toBe(index + 1);
  sent[index]?.answer(text);
}

test('sends a GET after each call, which all callers share that wait for it', async () => {
  const first = get();
  const others = Array.from({ length: 300 }, async () => await get());
  await answer(0, 'first');
  expect(await first).toBe('first');
  await expect.poll(() => sent.length).toBe(2);
  const late = get();
  await answer(1, 'second');
  expect(new Set(await Promise.all(others))).toEqual(new Set(['second']));
  await answer(2, 'third');
  expect(await late).toBe('third');
});

test('gets hundreds of objects at a time, each with a GET of its own and without a warning of Node', async () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => emitWarning.mockRestore());
  // Other test files of this process can have GETs without an answer.
  const before = getEventListeners(NEVER_ABORTED, 'abort');
  const names = Array.from({ length: 300 }, (_, index) => `node-${index}`);
  const callers = names.map(async (name) => await get(name));
  for (const one of sent) one.answer(one.key);
  expect(await Promise.all(callers)).toEqual(names);
  expect(emitWarning).not.toHaveBeenCalled();
  expect(getEventListeners(NEVER_ABORTED, 'abort')).toHaveLength(before.length);
});

test('continues a GET for the others if a caller aborts, and sends the next one after a failure', async () => {
  const leaving = new AbortController();
  const callers = [get(), get('a', leaving.signal), get()];
  leaving.abort(new Error('late'));
  await expect(callers[1]).rejects.toThrow('late');
  sent[0]?.fail(new Error('refused'));
  await expect(callers[0]).rejects.toThrow('refused');
  await answer(1, 'second');
  expect(await callers[2]).toBe('second');
});

test('ends a GET that gets no response, so that the next caller sends another', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout');
  const caller = get();
  vi.advanceTimersByTime(2_000);
  await expect(caller).rejects.toThrow('took longer than 2000 ms');
  void get();
  expect(sent).toHaveLength(2);
});
