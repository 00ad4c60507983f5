import type { Random } from '../simulation/random.ts';

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

/** Longer than any string that is read byte by byte, and deeper than any parser allows. */
const LARGE_FRAGMENTS = ['x'.repeat(10_000), '['.repeat(11_000)];

const OPEN_OBJECT = 0x7b;
/** A key with its colon, or a value. Then values that contain others. */
const TOKENS = [
  /"(?:[^"\\]|\\.)*"(?: *:)?|[^\s"[\]{},:]+/gs,
  /\[[^[\]]*\]|\{[^{}]*\}/g,
  /\{(?:[^{}]|\{[^{}]*\})*\}/g,
];

/** Applies one or a few changes, so that most of the input stays readable. `other` provides parts. */
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
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (random.below(7)) {
    case 0:
      return Buffer.concat([
        before,
        Buffer.from([(after[0] ?? 0) ^ (1 << random.below(8))]),
        after.subarray(1),
      ]);
    case 1:
      return Buffer.concat([before, after.subarray(length)]);
    case 2:
      return Buffer.concat([before, Buffer.from([random.below(128)]), after]);
    case 3:
      return before;
    case 4:
      return Buffer.concat([
        before,
        other.subarray(random.below(other.length)).subarray(0, length * 4),
        after,
      ]);
    default: {
      const fragment = random.pick(random.chance(0.005) ? LARGE_FRAGMENTS : FRAGMENTS);
      return Buffer.concat([before, Buffer.from(fragment), after]);
    }
  }
}

/** Renames, repeats or escapes a key, or replaces a value. The text stays JSON and so reaches more code. */
function mutateJson(text: string, random: Random): Buffer {
  const matches = [...text.matchAll(random.pick(TOKENS))];
  if (matches.length === 0) return Buffer.from(text);
  const match = random.pick(matches);
  const [token] = match;
  const escaped = `"\\u00${token.charCodeAt(1).toString(16)}${token.slice(2)}`;
  const keys = [
    `"${random.pick(KEYS)}":`,
    `"${random.pick(KEYS)}":null,${token}`,
    `${token}{},${token}`,
    escaped,
  ];
  const part = random.pick(token.endsWith(':') ? keys : VALUES);
  return Buffer.from(`${text.slice(0, match.index)}${part}${text.slice(match.index + token.length)}`);
}
