import { expect, test } from 'vitest';
import { checkImage } from '../../src/install/image.ts';

test.each([
  ['machineconfig-guard', true, false],
  ['registry.example.com:5000/ops/machineconfig-guard', true, false],
  ['[2001:db8::1]:5000/machineconfig-guard:1', true, false],
  [`registry.example.com/a/b_c/d--e@sha256:${'a'.repeat(64)}`, true, true],
  ['', false, false],
  ['registry.example.com/UPPER', false, false],
  [`guard@sha256:${'g'.repeat(64)}`, false, false],
  ['guard\nmalicious: true', false, false],
  ['a'.repeat(512), true, false],
  ['a'.repeat(513), false, false],
  [`a:${'b'.repeat(128)}`, true, false],
  [`a:${'b'.repeat(129)}`, false, false],
  // A pattern that backtracks exponentially would never finish with this text.
  [`${'a-'.repeat(255)}!`, false, false],
])('%j is a valid reference: %j, pinned: %j', (reference, valid, pinned) => {
  expect(checkImage(reference)).toEqual({ valid, pinned });
});
