/** Texts that a YAML parser can read as something else. */
const AMBIGUOUS_TEXTS = [
  '~ null Null y N yes No on OFF true False = << . .. - -- --- ... -a ?a :a a:b a#b #a %a @a `a',
  '] {a} &a *a !a | > \' " \\',
  '0 -0 +1 00 017 089 0o17 0o8 0O7 0x1F 0xG -0x1 0b11 0b2 -0b1 1_000 1. .5 ._5 1.5e3 1e3 1E+3 1e e3 1e999 .1e999',
  '.inf -.INF .nan inf NaN 0x1p-2 9223372036854775807 18446744073709551616 -9223372036854775809 0xFFFFFFFFFFFFFFFFF',
  '1:30 1:60 190:20:30 1:30.5 +1:30 a:30 1_0:30 02-1-1',
].flatMap((line) => line.split(' '));
/** Texts that need quotes, escapes, blocks or several lines. */
export const SPECIAL_TEXTS = [
  ...AMBIGUOUS_TEXTS,
  ...'| |--- a|- a|? a|: a|a: b|a #b|a, b|!!str a|it\'s|say "a"|a\\nb|<&>|%20|1 000|a:\tb|a\t#b|\ta|a\tb'.split('|'),
  ...'\n|\n\n|a\n|a\n\n|\na| a\n|a \n|a\n b\n|a\n\nb|a\n |a\r\nb\r\n|a\rb'.split('|'),
  ...'\u007E|\u00A0|\u00AD|e\u0301|日本語|\uFFFD|\uE000|😀|a😀b|\u{10FFFF}|\u200D|\u202E'.split('|'),
  'a'.repeat(128),
  'a'.repeat(200),
  'word '.repeat(40),
  'two  spaces '.repeat(20),
  `it's ${'long '.repeat(40)}# a`,
  `😀 ${'long  text '.repeat(20)}x`,
  `'${'a '.repeat(60)}`,
];

/** Texts that no known rendered config contains, so no hash verifies them. */
export const UNVERIFIABLE_TEXTS = [
  ...'2001-12-14 2001-2-30 2024-02-29 2001-12-14t21:59:43.10-05:00 2001-1-1T24:0:0Z 0b-1'.split(' '),
  '2001-12-14 21:59:43.10 -5',
  'a\u0000',
  '\u001B[0m',
  'a\u007F',
  'a\u0085b',
  'a\u2028b\n',
  'a\n\u2029',
  '\uFEFFa',
  '\uFFFE',
  'a\uD83Db',
];
