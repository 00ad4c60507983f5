import type { Random } from '../support/random.ts';

/** Values that mean something to JSON, to JavaScript or to the guard. */
const VALUES = [
  ...'null true "" {} [] -0 1e999 "\\ud800" "DELETE" "machineconfigs" "AdmissionReview"'.split(' '),
  '"rendered-worker-other"',
  '{"machineconfig-guard.io/allow-deletion":"x"}',
];
const KEYS = 'request operation oldObject metadata name uid annotations kind items __proto__'.split(' ');

/** Fragments that break parsers. */
const FRAGMENTS = [
  ...VALUES,
  ...'" \\ , : \\u0000 \u0000 \u202e \uFEFF "request":{}, "oldObject":null,'.split(' '),
  '"__proto__":{"kind":"AdmissionReview"},',
  '"annotations":{"machineconfig-guard.io/allow-deletion":"\\u0000"},',
];

/** Longer than any string that is read by byte, and deeper than any parser allows. */
const LARGE_FRAGMENTS = ['x'.repeat(10_000), '['.repeat(11_000)];

const OPEN_OBJECT = 0x7b;
/** A key with its colon, or a value. Then values that contain others. */
const TOKENS = [/"(?:[^"\\]|\\.)*"(?: *:)?|[^\s"[\]{},:]+/gs, /\[[^[\]]*\]|\{[^{}]*\}/g, /\{(?:[^{}]|\{[^{}]*\})*\}/g];

/** Applies a few changes, so that most of the input stays readable. `other` provides parts. */
export function mutate(original: Buffer, other: Buffer, random: Random): Buffer {
  let bytes = original;
  do {
    const isJson = original[0] === OPEN_OBJECT && random.chance(0.4);
    bytes = isJson ? mutateJson(bytes.toString(), random) : mutateBytes(bytes, other, random);
  } while (random.chance(0.4));
  return bytes;
}

function mutateBytes(bytes: Buffer, other: Buffer, random: Random): Buffer {
  const [at, length] = [random.below(bytes.length + 1), random.below(32)];
  const before = bytes.subarray(0, at);
  const replace = (count: number, part: Buffer | number[] | string) =>
    Buffer.concat([before, Buffer.from(part as string), bytes.subarray(at + count)]);
  switch (random.below(7)) {
    case 0:
      return replace(1, [(bytes[at] ?? 0) ^ (1 << random.below(8))]);
    case 1:
      return replace(length, '');
    case 2:
      return replace(0, [random.below(128)]);
    case 3:
      return before;
    case 4:
      return replace(0, other.subarray(random.below(other.length)).subarray(0, length * 4));
    default:
      return replace(0, random.pick(random.chance(0.005) ? LARGE_FRAGMENTS : FRAGMENTS));
  }
}

/** Changes a key or replaces a value. The text stays JSON and so reaches more code. */
function mutateJson(text: string, random: Random): Buffer {
  const matches = [...text.matchAll(random.pick(TOKENS))];
  if (matches.length === 0) return Buffer.from(text);
  const match = random.pick(matches);
  const [token] = match;
  const other = `"${random.pick(KEYS)}":`;
  const escaped = `"\\u00${token.charCodeAt(1).toString(16)}${token.slice(2)}`;
  const keys = [other, `${other}null,${token}`, `${token}{},${token}`, escaped];
  const part = random.pick(token.endsWith(':') ? keys : VALUES);
  return Buffer.from(`${text.slice(0, match.index)}${part}${text.slice(match.index + token.length)}`);
}
