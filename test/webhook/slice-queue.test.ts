import { expect, test } from 'vitest';
import { SliceQueue } from '../../src/webhook/slice-queue.ts';

const { signal } = new AbortController();

/** Work of some slices that writes its name for each slice. */
function* work(name: string, slices: number, order: string[]): Generator<undefined, string> {
  for (let slice = 1; slice < slices; slice += 1) {
    order.push(name);
    yield;
  }
  order.push(name);
  return name;
}

function occupy(milliseconds: number): void {
  const startedAt = performance.now();
  while (performance.now() - startedAt < milliseconds);
}

test('runs the work of trusted connections first, and others in turns', async () => {
  const queue = new SliceQueue();
  const order: string[] = [];
  // The first work starts immediately, and takes the whole turn.
  const first = queue.run(
    (function* () {
      occupy(5);
      yield;
    })(),
    'untrusted',
    signal,
  );
  const results = [
    queue.run(work('untrusted', 2, order), 'untrusted', signal),
    queue.run(work('new 1', 2, order), 'unknown', signal),
    queue.run(work('new 2', 2, order), 'unknown', signal),
    queue.run(work('trusted', 2, order), 'trusted', signal),
  ];
  expect(await Promise.all(results)).toEqual(['untrusted', 'new 1', 'new 2', 'trusted']);
  await first;
  expect(order).toEqual([
    'trusted',
    'trusted',
    'new 1',
    'new 2',
    'new 1',
    'new 2',
    'untrusted',
    'untrusted',
  ]);
});

test('lets other events happen between slices', async () => {
  let slices = 0;
  function* longWork(): Generator<undefined, void> {
    for (; slices < 20; slices += 1) {
      occupy(3);
      yield;
    }
  }
  const finished = new SliceQueue().run(longWork(), 'unknown', signal);
  const seen: number[] = [];
  const timer = setInterval(() => seen.push(slices), 1);
  await finished;
  clearInterval(timer);
  expect(seen.length).toBeGreaterThan(5);
});

test('rejects with the error of the work, and goes on', async () => {
  const queue = new SliceQueue();
  function* failing(): Generator<undefined, void> {
    yield;
    throw new Error('broken');
  }
  await expect(queue.run(failing(), 'unknown', signal)).rejects.toThrow('broken');
  expect(await queue.run(work('next', 1, []), 'unknown', signal)).toBe('next');
});

test('ends work whose client has gone', async () => {
  const aborted = AbortSignal.abort(new Error('gone'));
  const order: string[] = [];
  await expect(new SliceQueue().run(work('late', 1, order), 'unknown', aborted)).rejects.toThrow('gone');
  expect(order).toEqual([]);
});
