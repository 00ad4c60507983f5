import { expect, test } from 'vitest';
import { checkImage } from '../../src/install/image.ts';

const DIGEST = `@sha256:${'a'.repeat(64)}`;

test.each([
  ['machineconfig-guard', false],
  ['registry.example.com:5000/ops/machineconfig-guard', false],
  ['[2001:db8::1]:5000/machineconfig-guard:1', false],
  [`registry.example.com/a/b_c/d--e${DIGEST}`, true],
])('%s is a valid reference, pinned: %j', (reference, pinned) => {
  expect(checkImage(reference)).toEqual({ valid: true, pinned });
});

test.each([
  '',
  'registry.example.com/UPPER',
  `guard@sha256:${'g'.repeat(64)}`,
  'guard\nmalicious: true',
  'a'.repeat(600),
  // A pattern that backtracks exponentially would never finish with this text.
  `${'a-'.repeat(255)}!`,
])('%j is not a valid reference', (reference) => {
  expect(checkImage(reference)).toEqual({ valid: false, pinned: false });
});
