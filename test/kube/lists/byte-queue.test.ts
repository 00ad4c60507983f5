import { array, assert, double, nat, oneof, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { ByteQueue } from '../../../src/kube/lists/byte-queue.ts';

test('holds the bytes that were pushed and not consumed, in their order, for any pieces', () => {
  const step = record({
    size: oneof(nat(200), nat(100_000)),
    drop: double({ min: 0, max: 1, noNaN: true }),
  });
  assert(
    property(array(step, { maxLength: 30 }), (steps) => {
      const queue = new ByteQueue();
      let model = Buffer.alloc(0);
      let next = 0;
      for (const { size, drop } of steps) {
        const piece = Buffer.from(Array.from({ length: size }, () => (next += 1) % 251));
        queue.push(piece);
        model = Buffer.concat([model, piece]);
        // The owner of a piece may reuse its memory.
        piece.fill(255);
        const count = Math.floor(drop * model.length);
        queue.consume(count);
        model = model.subarray(count);
        expect(queue.length).toBe(model.length);
        expect(queue.bytes.equals(model)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});
