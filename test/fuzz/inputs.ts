import * as fc from 'fast-check';

/** Values that mean something to JSON, to JavaScript or to the guard. */
const VALUES = [
  ...'null true "" {} [] -0 1e999 "\\ud800" "DELETE" "machineconfigs" "AdmissionReview"'.split(' '),
  '"rendered-worker-other"',
  '{"machineconfig-guard.io/allow-deletion":"x"}',
];
const KEYS = 'request operation oldObject metadata name uid annotations kind items __proto__'.split(' ');
/** Fragments that break parsers. The last ones are longer and deeper than any parser allows. */
const FRAGMENTS = [
  ...VALUES,
  ...'" \\ , : \\u0000 \u0000 \u202e \uFEFF "request":{}, "oldObject":null,'.split(' '),
  '"__proto__":{"kind":"AdmissionReview"},',
  '"annotations":{"machineconfig-guard.io/allow-deletion":"\\u0000"},',
  'x'.repeat(10_000),
  '['.repeat(11_000),
];
/** A key with its colon, a value, or a value that contains others. */
const TOKEN = /"(?:[^"\\]|\\.)*"(?: *:)?|[^\s"[\]{},:]+|\[[^[\]]*\]|\{(?:[^{}]|\{[^{}]*\})*\}/gs;

type Edit = (input: Buffer) => Buffer;

function byteEdits(seeds: readonly Buffer[]): fc.Arbitrary<Edit> {
  const slice = fc.tuple(fc.constantFrom(...seeds), fc.nat(1_000), fc.nat(128));
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.uint8Array({ maxLength: 2 }) },
    { weight: 4, arbitrary: fc.constantFrom(...FRAGMENTS).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: slice.map(([seed, start, length]) => seed.subarray(start, start + length)) },
  );
  const removed = fc.oneof(fc.constant(0), fc.nat(32), fc.constant(Infinity));
  return fc.tuple(fc.nat(10_000), removed, part).map(([at, count, inserted]) => (input) => {
    const start = at % (input.length + 1);
    return Buffer.concat([input.subarray(0, start), inserted, input.subarray(start + count)]);
  });
}

/** Replaces a key or a value. The text stays JSON and so reaches more code. */
const jsonEdit = fc
  .tuple(fc.nat(1_000), fc.constantFrom(...KEYS), fc.constantFrom(...VALUES))
  .map(([at, key, value]): Edit => {
    return (input) => {
      const text = input.toString();
      const tokens = [...text.matchAll(TOKEN)];
      const { 0: token, index } = tokens[at % tokens.length] ?? { 0: '', index: 0 };
      const part = token.endsWith(':') ? `"${key}":` : value;
      return Buffer.from(`${text.slice(0, index)}${part}${text.slice(index + token.length)}`);
    };
  });

/** Inputs near these seeds: most of an input stays readable. */
export function inputsNear(seeds: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const isJson = seeds[0]?.[0] === '{'.charCodeAt(0);
  const edit = isJson ? fc.oneof(byteEdits(seeds), jsonEdit) : byteEdits(seeds);
  const edits = fc.array(edit, { minLength: 1, maxLength: 3 });
  return fc.tuple(fc.constantFrom(...seeds), edits).map(([seed, all]) => all.reduce((input, one) => one(input), seed));
}
