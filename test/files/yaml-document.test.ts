import { expect, test } from 'vitest';
import { FileError } from '../../src/files/file-error.ts';
import { parseYaml, YamlError } from '../../src/files/yaml-document.ts';

function parse(text: string) {
  return parseYaml(text, 'file');
}

function findErrorLine(text: string): number | undefined {
  try {
    return void parse(text);
  } catch (error) {
    return error instanceof YamlError ? error.line : Number.NaN;
  }
}

// What github.com/ghodss/yaml over yaml.v2 v2.4.0 answered (test/e2e/manifests/go-readers compares thousands of texts).
test.each<[text: string, value: unknown]>([
  ['', null],
  ['# only a comment', null],
  ['---\n--- a\n', null],
  ['--- a', 'a'],
  ['\uFEFFa: 1', { a: 1 }],
  ['a: 1\na: 2\n', { a: 2 }],
  [
    'a: yes\nb: 0644\nc: 0o17\nd: 1:30\ne: "no"\ng: 1_0\nh: ~\n',
    { a: true, b: 420, c: 15, d: '1:30', e: 'no', g: 10, h: null },
  ],
  [
    'a: !!str 1\nb: ! 2\nc: !x 3\nd: !!float 4\ne: !<tag:yaml.org,2002:str> 5\ng: !!str',
    { a: '1', b: '2', c: '3', d: 4, e: '5', g: '' },
  ],
  ['[0o17, 017, 089, -0x1F, -0b11, 1_000, 1e3, .5, Off, "1"]', [15, 15, 89, -31, -3, 1000, 1000, 0.5, false, '1']],
  ['[1:30, 0o8, ._5, 1e999, ., 2001-12-14]', ['1:30', '0o8', '._5', '1e999', '.', '2001-12-14']],
  ['[0xfffffffffffffffff, 18446744073709551616]', ['0xfffffffffffffffff', 18_446_744_073_709_551_616]],
  ['9007199254740991', 9_007_199_254_740_991],
  ['yes: 1\n017: 2\n"on": 3\n1.5: 4', { true: 1, 15: 2, on: 3, 1.5: 4 }],
  [
    'a:\n- 1\n-\n  - 2\n- b: 3\n  c:\nd: [e: f, {g, h: , ? i : j}, k , ]',
    { a: [1, [2], { b: 3, c: null }], d: [{ e: 'f' }, { g: null, h: null, i: 'j' }, 'k'] },
  ],
  ['? a\n? b\n: - c\n  -\n', { a: null, b: ['c', null] }],
  ["a: 'it''s\n\n  x'\nb: \"\\x41\\u00e9\\U0001F600 \\\n   c\\td\"", { a: "it's\nx", b: 'Aé😀 c\td' }],
  ['a: b\n  c\n\n  e#f # d\ng: h:i ?j\n', { a: 'b c\ne#f', g: 'h:i ?j' }],
  [
    'a: |\n  b\n   c\n\nd: |+2\n    e\n\nf: >-\n  g\n  h\n\n   i\n  j\nk: >1\n  l\n',
    { a: 'b\n c\n', d: '  e\n\n', f: 'g h\n\n i\nj', k: ' l\n' },
  ],
  ['a: &x [1, &y {b: 2}]\nc: *x\nd: *y', { a: [1, { b: 2 }], c: [1, { b: 2 }], d: { b: 2 } }],
  [
    'a: &x {b: 1, c: 2}\nd: {b: 3, <<: *x, c: 4}\ne: {<<: [{b: 5}, *x]}\nf: {"<<": 6}',
    { a: { b: 1, c: 2 }, d: { b: 1, c: 4 }, e: { b: 5, c: 2 }, f: { '<<': 6 } },
  ],
  ['__proto__: {kind: a}\nconstructor: b', JSON.parse('{"__proto__": {"kind": "a"}, "constructor": "b"}')],
  ['a:\r\n  - b\rc: d\u0085e: f', { a: ['b'], c: 'd', e: 'f' }],
  ['a: 1\n...\n[', { a: 1 }],
  [`a: &x 1\nb: [${'*x, '.repeat(150)}]`, { a: 1, b: Array.from({ length: 150 }, () => 1) }],
])('reads %j like Go', (text, value) => {
  expect(parse(text).value).toEqual(value);
});

test.each<[number, string[]]>([
  [1, ['a: b: c', 'a: 1\n b: 2', 'a: "b\n---\n"', 'a: - b', '- a: [', 'a: {b: c', '"a', "'a", '"\\q"']],
  [1, ['"\\ud83d\\ude00"', '\ta: 1', 'a:\n\t', 'a: *x', 'a: &x *x', 'a: &x [*x]', '@a', '`a', '%a', '[a]: b']],
  [1, ['{a: b}: c', '~: a', 'a: !! b', '\uFEFF\uFEFFa', '? - a', '!e!a b', 'a: .inf', '- .nan', '\0', 'a\u007F']],
  [1, ['a: {{ b }}', 'a: {{b}: c}', '{{- if a }}', '<<: a', '<<: [{a: b}, c]', '| a', '|0\n a', '|10\n a', 'a: ]']],
  [2, ['a:\n\tb: c', '# a\n\uFEFFb: c', 'a: 1\nb', '- a\nb: c', 'a: |\n\tb', 'a: b\n\t# c\nd: e', '-\n\ta=1']],
  [2, ['a: &x [{b: c}]\n<<: *x', 'a: b\n%YAML 1.1 c', 'a: b\n-c: d: e']],
  [3, ['a: |\n  b\n\t\n  c', 'a:\n  - |\n\t\n   b', 'a: b\n\n\t']],
])('fails in line %i: %j', (line, texts) => {
  for (const text of texts) expect([text, findErrorLine(text)]).toEqual([text, line]);
});

test('knows the lines of keys and items, the keys that it has twice, and whether more follows', () => {
  const { value, findLine, duplicates, hasMore } = parse('# a\nb: 1\nc:\n- d\n\n- {e: 2,\n   f: 3}\nb: 4\n---\n');
  const root = value as { c: readonly [unknown, object] };
  expect(['b', 'c', 'x'].map((key) => findLine(root, key))).toEqual([8, 3, undefined]);
  expect([findLine(root.c, 1), findLine(root.c[1], 'f')]).toEqual([6, 7]);
  expect(duplicates).toEqual([{ key: 'b', line: 8 }]);
  expect([hasMore, parse('a: 1\n...\n').hasMore]).toEqual([true, false]);
});

test('says where a template is', () => {
  expect(() => parse('a: |\n  {{ b }}\nc: {{ d }}\n')).toThrow('a template, not YAML');
  expect(() => parse('a: |\n  {{ b }}\nc: d: e\n')).toThrow('nested mappings are not allowed in compact mappings');
});

test('limits what aliases stand for', () => {
  const bomb = [
    'a0: &a0 [1, 1]',
    ...Array.from({ length: 30 }, (_, index) => `a${index + 1}: &a${index + 1} [${`*a${index}, `.repeat(9)}]`),
  ];
  expect(() => parse(bomb.join('\n'))).toThrow('too many values');
});

test.each(['- ', '[', '? ', '{a: ', '- - ? [{'])('rejects a text with 30,000 nested %j', (start) => {
  expect(() => parse(start.repeat(30_000))).toThrow(FileError);
});

test('reads what is nested as deeply as objects of Kubernetes', () => {
  expect(parse(`a: ${'[{b: '.repeat(50)}1${'}]'.repeat(50)}`).hasMore).toBe(false);
});

test('rejects a text with too many values', () => {
  expect(() => parseYaml('a: 1\n'.repeat(100), 'file', { nodesLeft: 100 })).toThrow(
    'file and the files before it have',
  );
  expect(() => parse('- \n'.repeat(1_000_000))).toThrow('file and the files before it have too many values');
});
