import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { parseOutline, MalformedJson } from '../../src/webhook/json-outline.ts';

/** Of everything that can be there, these parts are wanted. */
const OUTLINE = { a: 'value', b: { c: 'value', d: 'values' } } as const;

type Json = Readonly<Record<string, unknown>>;

/** The same by JSON.parse, in the plainest way. */
function plainly(text: string): unknown {
  const json = JSON.parse(text) as unknown;
  if (!isObject(json)) return undefined;
  return picked(json, {
    a: value,
    b: (b) => (isObject(b) ? picked(b, { c: value, d: values }) : value(b)),
  });
}

function picked(from: Json, parts: Readonly<Record<string, (part: unknown) => unknown>>): Json {
  const present = Object.entries(parts).filter(([key]) => Object.hasOwn(from, key));
  return Object.fromEntries(present.map(([key, read]) => [key, read(from[key])]));
}

function value(part: unknown): unknown {
  return typeof part === 'object' ? null : part;
}

function values(part: unknown): unknown {
  return isObject(part) ? Object.fromEntries(Object.entries(part).map(([key, one]) => [key, value(one)])) : value(part);
}

function isObject(part: unknown): part is Json {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}

/** What somebody makes of bytes, or "refused". */
function outcome(read: () => unknown): string {
  try {
    return JSON.stringify(read(), (_key, part: unknown) => (isObject(part) ? sorted(part) : part)) ?? 'no object';
  } catch (error) {
    if (error instanceof MalformedJson || error instanceof SyntaxError) return 'refused';
    throw error;
  }
}

function sorted(part: Json): [string, unknown][] {
  return Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

const key = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'x');
const text = fc.oneof(fc.string(), fc.string({ minLength: 60, maxLength: 200 }), fc.string({ unit: 'binary' }));
const leaf = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

test('whatever is JSON is read as JSON.parse reads it, however it is laid out', () => {
  let read = 0;
  fc.assert(
    fc.property(
      fc.dictionary(key, json, { noNullPrototype: true }),
      fc.constantFrom('', '\n', '\t  '),
      (object, indent) => {
        const sent = JSON.stringify(object, null, indent);
        const expected = outcome(() => plainly(sent));
        read += expected === '[]' ? 0 : 1;
        expect(outcome(() => parseOutline(Buffer.from(sent), OUTLINE))).toBe(expected);
      },
    ),
    { numRuns: 2_000 },
  );
  // Not vacuous: many have a wanted part.
  expect(read).toBeGreaterThan(400);
});

test('whatever is not JSON is refused, and nothing else', () => {
  const seen = { refused: 0, read: 0 };
  // Short strings without escapes are what this changes least, so that brackets, commas and numbers are what it breaks.
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a":',
    '1',
    '-',
    '.5',
    'e+1',
    'true',
    'nul',
    ' ',
    '\\',
    '\\u00',
    '\n',
  );
  fc.assert(
    fc.property(json, fc.nat(), fc.nat({ max: 3 }), piece, (before, at, without, inserted) => {
      const whole = JSON.stringify(before);
      const cut = at % (whole.length + 1);
      const sent = `{"x":${whole.slice(0, cut)}${inserted}${whole.slice(cut + without)}}`;
      // Two things are on purpose not as JSON.parse has them: one key twice, and control characters in long strings.
      const isSpecial = /"(?:[^"\\]|\\.){40,}/s.test(sent) || /"[abcd]".*"[abcd]"/s.test(sent);
      if (isSpecial) return;
      const expected = outcome(() => plainly(sent));
      seen[expected === 'refused' ? 'refused' : 'read'] += 1;
      expect(outcome(() => parseOutline(Buffer.from(sent), OUTLINE))).toBe(expected);
    }),
    { numRuns: 8_000 },
  );
  expect(seen.refused).toBeGreaterThan(800);
  expect(seen.read).toBeGreaterThan(80);
});

test.each([
  ['10,000 levels are read', 10_000, 'no error'],
  ['one more is refused', 10_001, 'is nested deeper than 10000 levels'],
])('%s', (_title, levels, problem) => {
  const sent = Buffer.from(`{"x":${'['.repeat(levels)}${']'.repeat(levels)}}`);
  let message = 'no error';
  try {
    parseOutline(sent, OUTLINE);
  } catch (error) {
    message = (error as MalformedJson).message;
  }
  expect(message).toBe(problem);
});

test('brackets of one kind do not close those of the other', () => {
  expect(outcome(() => parseOutline(Buffer.from('{"x":[1}}'), OUTLINE))).toBe('refused');
  expect(outcome(() => parseOutline(Buffer.from('{"x":{"y":1]}'), OUTLINE))).toBe('refused');
});

test('a text of escapes is searched for its end once, not once an escape', () => {
  const sent = Buffer.from(`{"x":"${'\\n'.repeat(100_000)}","a":1}`);
  const searches = vi.spyOn(sent, 'indexOf');
  expect(outcome(() => parseOutline(sent, OUTLINE))).toBe('[["a",1]]');
  const QUOTE = 0x22;
  expect(searches.mock.calls.filter(([byte]) => byte === QUOTE)).toHaveLength(1);
});
