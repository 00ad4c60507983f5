import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { listDefinedKinds } from '../../src/manifests/defined-kinds.ts';
import { KindCatalog, type Schema } from '../../src/manifests/schemas.ts';
import { validateValue } from '../../src/manifests/validate.ts';

const OBJECT: Schema = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'a' },
    size: { type: 'string', pattern: '^[0-9]+$', must: { pattern: 'be a quantity' } } as Schema,
    items: { type: 'array', listKeys: ['name'], items: { type: 'object', properties: { name: { type: 'string' } } } },
  },
  required: ['name'],
};

function find(value: unknown, schema: Schema = OBJECT, options = {}): string[] {
  return validateValue(value, schema, options).map(({ type, path, must }) =>
    `${type} ${path.join('.')} ${must}`.trim(),
  );
}

test('drops nulls, adds defaults and reports unknown fields, as an API server does before it validates', () => {
  expect(find({ name: null, other: 1 })).toEqual(['unknown other']);
  expect(find({ items: [null] })).toEqual(['type items.0 be a mapping']);
  expect(find({ items: [null] }, OBJECT, { isGo: true })).toEqual([]);
  expect(find({ NAME: 5 }, { ...OBJECT, ignoresCase: true })).toEqual(['type name be a text']);
});

test('reports wrong types, formats and equal items', () => {
  expect(find({ name: 5, size: '8GB', items: {} })).toEqual([
    'type name be a text',
    'value size be a quantity',
    'type items be a list',
  ]);
  expect(find({ items: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] })).toEqual(['duplicate items.2']);
});

const CEL = parse(readFileSync(path.join(import.meta.dirname, 'rules.yaml'), 'utf8')) as readonly [
  rule: string,
  right: unknown,
  wrong: unknown,
][];

test.each([
  ['date-time', "self < timestamp('2026-01-01T00:00:00Z')", '2025-12-31T23:00:00Z', '2026-01-01T00:00:00Z'],
  ['date', 'self.getFullYear() == 2025', '2025-12-31', '2026-01-01'],
  ['duration', "self >= duration('5m')", '1h', '4m59s'],
])('applies a rule to a %s', (format, rule, right, wrong) => {
  const text = { format, type: 'string', 'x-kubernetes-validations': [{ rule }] };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: text } } };
  const versions = [{ name: 'v1', served: true, schema }];
  const [kind] = listDefinedKinds({ group: 'example.com', names: { kind: 'A' }, versions });
  expect(find({ spec: right }, kind?.schema)).toEqual([]);
  expect(find({ spec: wrong }, kind?.schema)).toEqual([`rule spec the rule ${rule}`]);
});

test.each(CEL)('applies the rule %s', (rule, right, wrong) => {
  const schema: Schema = { cel: [{ rule }], items: {}, type: typeof right === 'number' ? 'integer' : [] };
  const { type: _type, ...untyped } = schema;
  const used = typeof right === 'number' ? schema : untyped;
  expect(find(right, used)).toEqual([]);
  expect(find(wrong, used)).toEqual([`rule  the rule ${rule}`]);
});

test('takes a rule of a CRD for broken that fails, and one of the overlay for right', () => {
  const judge = (rule: string, value: unknown, must?: string) =>
    find(value, { cel: [{ rule, ...(must && { must }) }] });
  for (const rule of ["self.a != ''", 'self.b[2] == 1', 'int(self.c) > 1', "url(self.c).getPort() == ''"]) {
    expect(judge(rule, { b: [], c: 'd' })).toEqual([`rule  the rule ${rule}`]);
    expect(judge(rule, { b: [], c: 'd' }, 'be right')).toEqual([]);
  }
});

test('does not apply a rule that does not compile, which is an error of the CRD', () => {
  for (const rule of ['frobnicate(self)', "self.test('b')", "other == 'b'", 'self ==', "isJson('b')"])
    expect(find('a', { cel: [{ rule }] })).toEqual([]);
});

test('lets only rules of the overlay call its functions', () => {
  expect(find('a', { cel: [{ rule: "self.test('b')", must: 'be right' }] })).toEqual(['value  be right']);
});

test('reports a rule that calls what only an API server has', () => {
  for (const rule of ['semver(self).major() > 1', "self.all(i, v, v != '')"])
    expect(find(['a'], { cel: [{ rule }] })).toEqual([`unjudged  the rule ${rule}`]);
});

test('applies a rule of a CRD only to an object that is valid otherwise', () => {
  const schema: Schema = { type: 'object', properties: { a: { type: 'string' } }, cel: [{ rule: 'false' }] };
  expect(find({ a: 5 }, schema)).toEqual(['type a be a text']);
  expect(find({ a: 5 }, { ...schema, cel: [{ rule: 'false', must: 'be right' }] })).toEqual([
    'value  be right',
    'type a be a text',
  ]);
});

/** Texts that differ. */
function createTexts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `a${index}`);
}

const COSTLY: readonly [rule: string, value: unknown][] = [
  ['self.all(a, self.exists_one(b, a == b))', createTexts(1_000)],
  ['self.all(a, a in self)', createTexts(2_000)],
  ["self.all(a, self.all(b, a.matches('^(a+)+$') || true))", Array.from({ length: 300 }, () => 'a'.repeat(1_000))],
  ['self.map(a, self.map(b, self.map(c, a + b + c))).size() > 0', createTexts(200)],
];

test.each(COSTLY)('ends the rule %s at the cost limit of an API server', (rule, value) => {
  expect(find(value, { items: {}, cel: [{ rule }] })).toEqual([
    `rule  the rule ${rule} exceeds the cost limit of the API server`,
  ]);
});

test('ends the rules for an object at their common cost limit', () => {
  const rule = 'self.all(a, self.exists_one(b, a == b))';
  const cel = Array.from({ length: 30 }, () => ({ rule }));
  const found = find(createTexts(400), { items: {}, cel });
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(30);
});

test('says why a data URL does not decode', () => {
  const [version] = KindCatalog.shared().find('internal/ignition/3.4', 'Config');
  const judge = (source: string): string[] => {
    const options = { isGo: true };
    return find({ ignition: { version: '3.4.0', config: { merge: [{ source }] } } }, version?.schema, options).map(
      (text) => text.replace(/^.*\((.*)\)$/, '$1'),
    );
  };
  expect(['data:,a%20b', 'data:;base64,YQ==', 'https://example.com/a'].flatMap(judge)).toEqual([]);
  const sources = [
    'data:,${A}',
    'data:,a b',
    'data:,a%',
    'data:;base64,YQ==\nYQ==',
    'data:;base64,YQ',
    'data:',
    'data:,ä',
  ];
  expect(sources.flatMap(judge)).toEqual([
    'a placeholder',
    'a space or a line break, which must be %20 or %0A',
    'a "%" that begins no code, and must be %25',
    'Base64 with line breaks',
    'characters that are not Base64, or an incomplete end',
    'a comma is missing',
    'characters that must be written as %XX',
  ]);
});
