import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS, isHold, MODES, parseSettings } from '../../src/api/settings.ts';

const [HOUR, DEFAULT_HOLD, LONGEST_HOLD] = [3_600_000, 7_200_000, 2_592_000_000];

test.each<[unknown, string, number]>([
  ...MODES.map((mode) => [{ mode, holdSuperseded: '720h' }, mode, LONGEST_HOLD] as [unknown, string, number]),
  ...[undefined, {}, null, 'text'].map((spec) => [spec, 'Enforce', DEFAULT_HOLD] as [unknown, string, number]),
  [{ mode: false, holdSuperseded: '1h' }, 'Enforce', HOUR],
  [{ mode: 'enforce' }, 'Enforce', DEFAULT_HOLD],
  [{ mode: null }, 'Enforce', DEFAULT_HOLD],
  [{ mode: 'a\u0085b' }, 'Enforce', DEFAULT_HOLD],
  [{ mode: 'Audit', holdSuperseded: 7 }, 'Audit', LONGEST_HOLD],
  [{ holdSuperseded: '-1h' }, 'Enforce', LONGEST_HOLD],
  [{ holdSuperseded: '721h' }, 'Enforce', LONGEST_HOLD],
  [{ holdSuperseded: null }, 'Enforce', LONGEST_HOLD],
])('reads the spec %j as the mode %s and a hold of %i ms', (spec, mode, holdSupersededMs) => {
  expect(parseSettings({ spec })).toEqual({ mode, holdSupersededMs });
});

test('uses Enforce and a hold of two hours without an object', () => {
  expect(parseSettings(undefined)).toEqual(DEFAULT_SETTINGS);
  expect(DEFAULT_SETTINGS).toEqual({ mode: 'Enforce', holdSupersededMs: DEFAULT_HOLD });
});

test('a hold is a duration of at most 30 days in whole units', () => {
  const holds = ['2h', '1h30m', '720h', '2592000s', '100ms'];
  const others = ['720h1ms', '1000000000s', '1.5h', 'h', '-1h', '1h ', '1us', '1h1us', ''];
  expect([...holds, ...others].filter(isHold)).toEqual(holds);
});
