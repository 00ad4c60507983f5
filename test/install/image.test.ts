import { expect, test } from 'vitest';
import { checkImage } from '../../src/install/image.ts';

const DIGEST = `@sha256:${'a'.repeat(64)}`;

test.each([
  ['machineconfig-guard', false],
  ['registry.example.com/machineconfig-guard:0.1.0', false],
  ['registry.example.com:5000/ops/machineconfig-guard', false],
  ['[2001:db8::1]:5000/machineconfig-guard:1', false],
  [`registry.example.com/a/b_c/d--e${DIGEST}`, true],
  [`quay.io/org/guard:1.2${DIGEST}`, true],
])('%s is a valid reference, pinned: %j', (reference, pinned) => {
  expect(checkImage(reference)).toEqual({ valid: true, pinned });
});

test.each([
  '',
  'a b',
  'registry.example.com/UPPER',
  '-rf',
  'guard:',
  'guard@sha256:abc',
  `guard@sha256:${'g'.repeat(64)}`,
  `guard@md5:${'a'.repeat(32)}`,
  'https://registry.example.com/guard',
  'guard\nmalicious: true',
  '../guard',
  'registry//guard',
  'registry.example.com/guard/',
  'a'.repeat(600),
  '$(id)',
  // A pattern that backtracks exponentially would never finish with this text.
  `${'a-'.repeat(255)}!`,
])('%j is not a valid reference', (reference) => {
  expect(checkImage(reference)).toEqual({ valid: false, pinned: false });
});
