import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { SharedGets } from '../../src/references/shared-gets.ts';

interface SentGet {
  readonly key: string;
  readonly answer: (text: string) => void;
  readonly fail: (error: Error) => void;
}

let gets: SharedGets<string>;
let sent: SentGet[];

beforeEach(() => {
  gets = new SharedGets();
  sent = [];
});

async function get(key = 'a', signal = new AbortController().signal) {
  return await gets.get(
    key,
    async (limited) =>
      await new Promise((answer, fail) => {
        sent.push({ key, answer, fail });
        limited.addEventListener('abort', () => fail(limited.reason as Error));
      }),
    signal,
  );
}

test('sends a GET after each call, which all callers share that wait for it', async () => {
  const first = get();
  const others = Array.from({ length: 300 }, async () => await get());
  expect(sent).toHaveLength(1);
  sent[0]?.answer('first');
  expect(await first).toBe('first');
  await expect.poll(() => sent).toHaveLength(2);
  const late = get();
  sent[1]?.answer('second');
  expect(new Set(await Promise.all(others))).toEqual(new Set(['second']));
  await expect.poll(() => sent).toHaveLength(3);
  sent[2]?.answer('third');
  expect(await late).toBe('third');
});

test('does not share the GETs of different objects', async () => {
  const callers = [get('a'), get('b'), get('c')];
  for (const { key, answer } of sent) answer(key);
  expect(await Promise.all(callers)).toEqual(['a', 'b', 'c']);
});

test('sends the next GET after one has failed', async () => {
  const callers = [get(), get()];
  sent[0]?.fail(new Error('refused'));
  await expect(callers[0]).rejects.toThrow('refused');
  await expect.poll(() => sent).toHaveLength(2);
  sent[1]?.answer('answer');
  expect(await callers[1]).toBe('answer');
});

test('continues a GET for the others if a caller aborts', async () => {
  const leaving = new AbortController();
  void get();
  const callers = [get('a', leaving.signal), get()];
  leaving.abort(new Error('late'));
  await expect(callers[0]).rejects.toThrow('late');
  sent[0]?.answer('first');
  await expect.poll(() => sent).toHaveLength(2);
  sent[1]?.answer('second');
  expect(await callers[1]).toBe('second');
});

test('ends a GET that gets no response, so that the next caller sends another', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const caller = get();
  vi.advanceTimersByTime(2_000);
  await expect(caller).rejects.toThrow('took longer than 2000 ms');
  void get();
  expect(sent).toHaveLength(2);
});
