import { beforeEach, expect, test } from 'vitest';
import { SharedGets } from '../../src/references/shared-gets.ts';

interface SentGet {
  readonly key: string;
  readonly signal: AbortSignal;
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
    async (shared) =>
      await new Promise((answer, fail) => {
        sent.push({ key, signal: shared, answer, fail });
        shared.addEventListener('abort', () => fail(shared.reason as Error));
      }),
    signal,
  );
}

async function waitTurn() {
  await new Promise((resolve) => setImmediate(resolve));
}

test('sends at most two GETs of an object, and one more for all later callers', async () => {
  const callers = Array.from({ length: 300 }, async () => await get());
  expect(sent).toHaveLength(2);
  sent[0]?.answer('first');
  await waitTurn();
  expect(sent).toHaveLength(3);
  sent[1]?.answer('second');
  sent[2]?.answer('third');
  expect(await Promise.all(callers)).toEqual(['first', 'second', ...Array<string>(298).fill('third')]);
});

test('never joins a GET that was sent before the call', async () => {
  const callers = [get(), get(), get()];
  sent[0]?.answer('old');
  await waitTurn();
  const late = get();
  sent[1]?.answer('old');
  sent[2]?.answer('old');
  await Promise.all(callers);
  sent[3]?.answer('new');
  expect(await late).toBe('new');
});

test('does not share the GETs of different objects', async () => {
  const callers = [get('a'), get('b'), get('c')];
  for (const { key, answer } of sent) answer(key);
  expect(await Promise.all(callers)).toEqual(['a', 'b', 'c']);
});

test('rejects all callers of a failed GET, and sends the next one', async () => {
  const [one, two, three] = [get(), get(), get()];
  sent[0]?.fail(new Error('refused'));
  await expect(one).rejects.toThrow('refused');
  for (const { answer } of sent) answer('answer');
  expect(await Promise.all([two, three])).toEqual(['answer', 'answer']);
});

test('a caller that leaves does not end a GET that others wait for', async () => {
  const leaving = new AbortController();
  const callers = [get(), get(), get('a', leaving.signal), get()];
  sent[0]?.answer('first');
  await waitTurn();
  leaving.abort(new Error('late'));
  await expect(callers[2]).rejects.toThrow('late');
  expect(sent[2]?.signal.aborted).toBe(false);
  for (const { answer } of sent) answer('answer');
  expect(await callers[3]).toBe('answer');
});

test('aborts a GET without callers, and does not send one that has none', async () => {
  const leaving = new AbortController();
  const callers = [get(), get('a', leaving.signal), get('a', leaving.signal)];
  leaving.abort(new Error('late'));
  await Promise.allSettled(callers.slice(1));
  expect(sent.map(({ signal }) => signal.aborted)).toEqual([false, true]);
  sent[0]?.answer('answer');
  await callers[0];
  await waitTurn();
  expect(sent).toHaveLength(2);
});
