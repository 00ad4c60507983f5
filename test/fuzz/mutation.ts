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
].map((fragment) => Buffer.from(fragment));

/** Longer than any string that is read byte by byte, and deeper than any parser allows. */
const LARGE_FRAGMENTS = ['x'.repeat(10_000), '['.repeat(11_000)].map((fragment) => Buffer.from(fragment));

const OPEN_OBJECT = 0x7b;

/** Applies one or a few changes, so that most of the input stays readable. `other` provides parts. */
export function mutate(original: Buffer, other: Buffer, random: Random): Buffer {
  let bytes = original;
  do {
    const isJson = original[0] === OPEN_OBJECT && random.chance(0.4);
    bytes = isJson ? mutateJson(bytes, other, random) : mutateBytes(bytes, random);
  } while (random.chance(0.4));
  return bytes;
}

function mutateBytes(bytes: Buffer, random: Random): Buffer {
  const [at, length] = [random.below(bytes.length + 1), random.below(32)];
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const insert = (inserted: Buffer = Buffer.alloc(0)): Buffer => Buffer.concat([before, inserted, after]);
  switch (random.below(8)) {
    case 0:
      return Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ (1 << random.below(8))]), after.subarray(1)]);
    case 1:
      return Buffer.concat([before, after.subarray(length)]);
    case 2:
      return insert(after.subarray(0, length));
    case 3:
      return insert(Buffer.from(Array.from({ length: length % 4 }, () => random.below(128))));
    case 4:
      return before;
    case 5:
      return insert(bytes.subarray(random.below(bytes.length + 1)).subarray(0, length * 4));
    default:
      return insert(random.pick(random.chance(0.005) ? LARGE_FRAGMENTS : FRAGMENTS));
  }
}

/**
 * Changes the structure of a JSON text, which stays JSON and so reaches more code than flipped bits: replaces a value,
 * or repeats, removes, renames or escapes a member.
 */
function mutateJson(bytes: Buffer, otherBytes: Buffer, random: Random): Buffer {
  const [text, other] = [bytes.toString(), otherBytes.toString()];
  const { members, values } = findSpans(text);
  const [value, member] = [random.pick(values), random.pick(members)];
  if (value === undefined || member === undefined) return bytes;
  const replace = ([start, end]: Span, part: string): Buffer =>
    Buffer.from(text.slice(0, start) + part + text.slice(end));
  const current = text.slice(...member);
  switch (random.below(7)) {
    case 0:
      return replace(value, random.pick(VALUES) ?? '');
    case 1:
      return replace(value, text.slice(...(random.pick(values) ?? value)));
    case 2:
      return replace(value, other.slice(...(random.pick(findSpans(other).values) ?? [0, 0])));
    case 3:
      return replace(member, `${text.slice(...(random.pick(members) ?? member))},${current}`);
    case 4:
      return replace(member, '"":0');
    case 5:
      return replace(member, current.replace(/^"(?:[^"\\]|\\.)*"/s, `"${random.pick(KEYS) ?? ''}"`));
    default:
      return replace(
        member,
        current.replace(/^"./s, (start) => `"\\u00${start.charCodeAt(1).toString(16)}`),
      );
  }
}

type Span = readonly [start: number, end: number];

/** Strings, brackets and the text between them. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/gs;

/** Finds the values of a JSON text and the members of its objects, from the key to the end of the value. */
function findSpans(text: string): { readonly values: readonly Span[]; readonly members: readonly Span[] } {
  const tokens = [...text.matchAll(TOKEN)];
  const [values, members]: [Span[], Span[]] = [[], []];
  const open: number[] = [];
  for (const [index, { 0: token, index: at }] of tokens.entries()) {
    if (token === '{' || token === '[') open.push(index);
    if ('{[,:'.includes(token) || tokens[index + 1]?.[0] === ':') continue;
    const first = token === '}' || token === ']' ? open.pop() : index;
    if (first === undefined) continue;
    const end = at + token.length;
    values.push([tokens[first]?.index ?? at, end]);
    const key = tokens[first - 1]?.[0] === ':' ? tokens[first - 2] : undefined;
    if (key !== undefined) members.push([key.index, end]);
  }
  return { values, members };
}
