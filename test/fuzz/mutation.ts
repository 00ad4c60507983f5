import type { Random } from '../simulation/random.ts';
import { restructured } from './structure.ts';

/** What breaks parsers and those who trust them. */
const TOKENS = [
  '"__proto__":{"kind":"AdmissionReview"},',
  '"constructor":{"prototype":{}},',
  '"request":{},',
  '"request":null,',
  '"operation":"CREATE",',
  '"oldObject":null,',
  '"name":"rendered-worker-other",',
  '"annotations":{"machineconfig-guard.io/allow-deletion":""},',
  '"annotations":{"machineconfig-guard.io/allow-deletion":"\\u0000"},',
  '\\u0000',
  '\\ud800',
  '\u202e',
  '\u0000',
  '1e999',
  '-0',
  'null',
  'true',
  '[]',
  '{}',
  '"',
  '\\',
  ',',
  ':',
  '\uFEFF',
].map((token) => Buffer.from(token));
/** More than any reader takes. */
const DEPTH = 11_000;
const LENGTH = 10_000;
const OPEN_OBJECT = 0x7b;

/** The same bytes with a few things done to them, mostly one: what is left should still be worth reading. `other` is something to take parts from. */
export function mutated(original: Buffer, other: Buffer, random: Random): Buffer {
  let bytes = original;
  const isJson = bytes[0] === OPEN_OBJECT;
  do
    bytes =
      isJson && random.chance(0.4)
        ? Buffer.from(restructured(bytes.toString('utf8'), other.toString('utf8'), random))
        : once(bytes, random);
  while (random.chance(0.4));
  return bytes;
}

function once(bytes: Buffer, random: Random): Buffer {
  const [at, length] = [random.below(bytes.length + 1), random.below(32)];
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (random.below(9)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
      return flipped;
    }
    case 1:
      return Buffer.concat([before, after.subarray(length)]);
    case 2:
      return Buffer.concat([before, after.subarray(0, length), after]);
    case 3:
      return Buffer.concat([
        before,
        Buffer.from(Array.from({ length: length % 4 }, () => random.below(random.chance(0.9) ? 128 : 256))),
        after,
      ]);
    case 4:
      return before;
    case 5:
      // Something from elsewhere in it.
      return Buffer.concat([before, bytes.subarray(random.below(bytes.length + 1)).subarray(0, length * 4), after]);
    case 6:
      if (!random.chance(0.02)) return Buffer.concat([before, random.pick(TOKENS) ?? before, after]);
      return Buffer.concat([before, Buffer.from('['.repeat(DEPTH)), after]);
    case 7:
      if (!random.chance(0.02)) return Buffer.concat([before, random.pick(TOKENS) ?? before, after]);
      return Buffer.concat([before, Buffer.from('x'.repeat(LENGTH)), after]);
    default:
      return Buffer.concat([before, random.pick(TOKENS) ?? before, after]);
  }
}
