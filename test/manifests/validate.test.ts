import { expect, test } from 'vitest';
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

const CEL: readonly [rule: string, right: unknown, wrong: unknown][] = [
  ['self > 2', 3, 2],
  ['size(self) <= 1', ['a'], ['a', 'b']],
  ["self.?a.orValue('') == 'b'", { a: 'b' }, {}],
  ["isURL(self) && url(self).getScheme() == 'https'", 'https://a.b', 'http://a.b'],
  ['isURL(self)', 'https://a.b', 'https://a\n.b'],
  ["matches(self, '^a+$')", 'aa', 'ab'],
  ["url(self).getHostname() == 'a.b' && url(self).getPort() == '8443'", 'https://a.b:8443/c', 'https://a.b/c'],
  ["url(self).getEscapedPath() == ''", 'https://a.b', 'https://a.b/c'],
  ['size(url(self).getQuery()) == 0', 'https://a.b', 'https://a.b?c=d'],
  ['isIP(self)', '192.0.2.1', 'a.b'],
  ['isCIDR(self)', '192.0.2.0/24', '192.0.2.0'],
  ["isQuantity(self) && quantity(self).isGreaterThan(quantity('1Ki'))", '1Mi', '1'],
  ["quantity(self).compareTo(quantity('1')) == 0", '1000m', '2'],
  ["self.find('[0-9]+') == '12'", 'a12b3', 'a1'],
  ["self.findAll('[0-9]').size() == 2", 'a1b2', 'a1'],
  ["self.replace('a', 'b', 1) == 'ba'", 'aa', 'ab'],
  ["self.replace('a', '$&') == '$&$&'", 'aa', 'ab'],
  ["quantity(self).isLessThan(quantity('1Ki'))", '1', '1Mi'],
  ["self . matches ('^a+$')", 'aa', 'ab'],
  ['has(self[0].a) && !has(self[0].b.c)', [{ a: 1, b: {} }], [{ a: 1, b: { c: 1 } }]],
  ["self.__namespace__ == 'a' && self.b__dash__c == 'd'", { namespace: 'a', 'b-c': 'd' }, { namespace: 'a' }],
  ['oldSelf.hasValue() || self == 1', 1, 2],
  ["ip(self) == ip('2001:db8::1')", '2001:DB8:0::1', '2001:db8::2'],
  ['ip.isCanonical(self)', '2001:db8::1', '2001:DB8::1'],
  ['isIP(self)', '::1', 'fe80::1%eth0'],
  ['isIP(self)', '::1', '::ffff:192.0.2.1'],
  ['ip(self).isLoopback()', '127.1.2.3', '128.0.0.1'],
  ['ip(self).isUnspecified()', '::', '::1'],
  ['ip(self).isLinkLocalUnicast()', 'fe80::1', '2001:db8::1'],
  ['ip(self).isLinkLocalMulticast()', '224.0.0.9', '224.0.1.9'],
  ['ip(self).isGlobalUnicast()', '10.0.0.1', '169.254.0.1'],
  ['ip(self).family() == 6', '::1', '192.0.2.1'],
  ['cidr(self).containsIP("192.0.2.7")', '192.0.2.0/24', '192.0.2.0/30'],
  ["cidr(self).containsIP(ip('2001:db8::7'))", '2001:db8::/64', '192.0.2.0/24'],
  ['cidr(self).masked() == cidr(self)', '10.32.0.0/11', '10.33.0.0/11'],
  ['cidr(self).prefixLength() == 24', '192.0.2.0/24', '192.0.2.0/25'],
  ["self.isSorted() && self.min() == 'a' && self.max() == 'b'", ['a', 'b'], ['b', 'a']],
  ["self.indexOf('b') == 1 && self.lastIndexOf('b') == 2 && self.indexOf('c') == -1", ['a', 'b', 'b'], ['b']],
  ['self.map(text, double(text)).sum() == 1.0', ['0.5', '0.5'], ['0.5']],
  ["sets.contains(self, ['a']) && !sets.intersects(self, ['c'])", ['a', 'b'], ['a', 'c']],
  ["sets.equivalent(self, ['a', 'b'])", ['b', 'a', 'a'], ['a']],
  ["quantity(self).add(quantity('1Ki')).sub(24).asInteger() == 2000", '1000', '1001'],
  ["quantity(self).isInteger() && sign(quantity(self)) == -1 && self.charAt(0) == '-'", '-1', '-1m'],
  ['!format.dns1123Label().validate(self).hasValue()', 'a'.repeat(63), 'a'.repeat(64)],
  ["!format.named('qualifiedName').value().validate(self).hasValue()", 'a.b/C_d', 'a/b/c'],
  ["!format.named(self).hasValue() || self == 'uuid'", 'uuid', 'labelValue'],
];

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
