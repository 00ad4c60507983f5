import { array, assert, double, nat, oneof, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { ByteQueue } from '../../../src/kube/lists/byte-queue.ts';

test('whatever is added and dropped in whatever pieces: what is left is what was not dropped, in its order', () => {
  const step = record({
    size: oneof(nat(200), nat(100_000)),
    drop: double({ min: 0, max: 1, noNaN: true }),
  });
  assert(
    property(array(step, { maxLength: 30 }), (steps) => {
      const unread = new ByteQueue();
      let model = Buffer.alloc(0);
      let next = 0;
      for (const { size, drop } of steps) {
        const piece = Buffer.from(Array.from({ length: size }, () => (next += 1) % 251));
        unread.push(piece);
        model = Buffer.concat([model, piece]);
        // What is read must not depend on the piece, which its owner may use again.
        piece.fill(255);
        const count = Math.floor(drop * model.length);
        unread.consume(count);
        model = model.subarray(count);
        expect(unread.length).toBe(model.length);
        expect(unread.bytes.equals(model)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});
