import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { MalformedJson, Outline, parseOutline } from '../../src/webhook/json-outline.ts';
import { finish } from '../support/review.ts';

const LENGTH = 1_000;
const OUTLINE = new Outline({ a: LENGTH, b: new Outline({ c: LENGTH, d: new Outline({ x: LENGTH }) }) });

type Json = Readonly<Record<string, unknown>>;

/** The outline as JSON.parse sees it. */
function parseByModel(text: string): unknown {
  const json = JSON.parse(text) as unknown;
  if (!isObject(json)) return undefined;
  return pick(json, {
    a: toValue,
    b: (b) => pickFrom(b, { c: toValue, d: (d) => pickFrom(d, { x: toValue }) }),
  });
}

type Converters = Readonly<Record<string, (member: unknown) => unknown>>;

function pickFrom(value: unknown, members: Converters): unknown {
  return isObject(value) ? pick(value, members) : null;
}

function pick(object: Json, members: Converters) {
  const present = Object.entries(members).filter(([key]) => Object.hasOwn(object, key));
  return Object.fromEntries(present.map(([key, convert]) => [key, convert(object[key])]));
}

function toValue(member: unknown): unknown {
  return typeof member === 'object' ? null : member;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the result as text with sorted keys, or "malformed". */
function describeResult(parse: () => unknown) {
  try {
    return JSON.stringify(parse(), sortKeys) ?? 'no object';
  } catch (error) {
    if (error instanceof MalformedJson || error instanceof SyntaxError) return 'malformed';
    throw error;
  }
}

function sortKeys(_key: string, value: unknown): unknown {
  return isObject(value) ? Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) : value;
}

const parse = (text: string) => describeResult(() => finish(parseOutline(Buffer.from(text), OUTLINE)));

const key = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'x');
const text = fc.oneof(
  fc.string(),
  fc.string({ minLength: 60, maxLength: 200 }),
  fc.string({ unit: 'binary' }),
);
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

test('reads JSON as JSON.parse does, with any indentation', () => {
  let outlineCount = 0;
  const object = fc.dictionary(key, json, { noNullPrototype: true });
  fc.assert(
    fc.property(object, fc.constantFrom('', '\n', '\t  '), (value, indent) => {
      const sent = JSON.stringify(value, null, indent);
      const expected = describeResult(() => parseByModel(sent));
      if (expected !== '[]') outlineCount += 1;
      expect(parse(sent)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
  expect(outlineCount).toBeGreaterThan(400);
});

const FRAGMENTS = '{ } [ ] , : " "a": 1 - .5 e+1 true nul \\ \\u00 \n'.split(' ').concat(' ');

test('rejects text that JSON.parse rejects', () => {
  const counts = { malformed: 0, accepted: 0 };
  fc.assert(
    fc.property(
      json,
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.constantFrom(...FRAGMENTS),
      (value, at, cut, fragment) => {
        const whole = JSON.stringify(value);
        const position = at % (whole.length + 1);
        const sent = `{"x":${whole.slice(0, position)}${fragment}${whole.slice(position + cut)}}`;
        // The two intended differences: a key that occurs twice, and control characters in long strings.
        if (/"(?:[^"\\]|\\.){40,}/s.test(sent) || /"[abcdx]".*"[abcdx]"/s.test(sent)) return;
        const expected = describeResult(() => parseByModel(sent));
        counts[expected === 'malformed' ? 'malformed' : 'accepted'] += 1;
        expect(parse(sent)).toBe(expected);
      },
    ),
    { numRuns: 8_000 },
  );
  expect(counts.malformed).toBeGreaterThan(800);
  expect(counts.accepted).toBeGreaterThan(80);
});

test.each([
  ['reads 10,000 levels', `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, '[]'],
  ['rejects 10,001 levels', `{"x":${'['.repeat(10_001)}${']'.repeat(10_001)}}`, 'malformed'],
  ['rejects an array that ends as an object', '{"x":[1}}', 'malformed'],
  ['rejects an object that ends as an array', '{"x":{"y":1]}', 'malformed'],
])('%s', (_case, sent, expected) => {
  expect(parse(sent)).toBe(expected);
});

test('searches a string of escapes for its end once', () => {
  const sent = Buffer.from(`{"x":"${'\\n'.repeat(100_000)}","a":1}`);
  const indexOf = vi.spyOn(sent, 'indexOf');
  expect(describeResult(() => finish(parseOutline(sent, OUTLINE)))).toBe('[["a",1]]');
  const QUOTE = 0x22;
  expect(indexOf.mock.calls.filter(([byte]) => byte === QUOTE)).toHaveLength(1);
});
