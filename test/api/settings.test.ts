import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS, isHold, MODES, parseSettings } from '../../src/api/settings.ts';

const [HOUR, DEFAULT_HOLD, LONGEST_HOLD] = [3_600_000, 7_200_000, 2_592_000_000];
const modeProblem = (value: string) => `spec.mode ${value} is not one of Enforce, Warn, Audit, Disabled; using Enforce`;
const holdProblem = (value: string) => `spec.holdSuperseded ${value} is not a duration of at most 720h; using 720h`;

test.each<[unknown, string, number, string?]>([
  ...MODES.map((mode) => [{ mode, holdSuperseded: '720h' }, mode, LONGEST_HOLD] as [unknown, string, number]),
  ...[undefined, {}, null, 'text'].map((spec) => [spec, 'Enforce', DEFAULT_HOLD] as [unknown, string, number]),
  [{ mode: false, holdSuperseded: '1h' }, 'Enforce', HOUR, modeProblem('false')],
  [{ mode: 'enforce' }, 'Enforce', DEFAULT_HOLD, modeProblem('"enforce"')],
  [{ mode: null }, 'Enforce', DEFAULT_HOLD, modeProblem('null')],
  [{ mode: 'a\u0085b' }, 'Enforce', DEFAULT_HOLD, modeProblem('"a b"')],
  [{ mode: 'Audit', holdSuperseded: 7 }, 'Audit', LONGEST_HOLD, holdProblem('7')],
  [{ holdSuperseded: '-1h' }, 'Enforce', LONGEST_HOLD, holdProblem('"-1h"')],
  [{ holdSuperseded: '721h' }, 'Enforce', LONGEST_HOLD, holdProblem('"721h"')],
  [{ holdSuperseded: null }, 'Enforce', LONGEST_HOLD, holdProblem('null')],
])(
  'reads the spec %j as the mode %s and a hold of %i ms, with the problem %s',
  (spec, mode, holdSupersededMs, problem) => {
    const problems = problem === undefined ? [] : [problem];
    expect(parseSettings({ spec })).toEqual({ settings: { mode, holdSupersededMs }, problems });
  },
);

test('uses Enforce and a hold of two hours without an object', () => {
  expect(parseSettings(undefined)).toEqual({ settings: DEFAULT_SETTINGS, problems: [] });
  expect(DEFAULT_SETTINGS).toEqual({ mode: 'Enforce', holdSupersededMs: DEFAULT_HOLD });
});

test('a hold is a duration of at most 30 days in whole units', () => {
  const holds = ['2h', '1h30m', '720h', '2592000s', '100ms'];
  const others = ['720h1ms', '1000000000s', '1.5h', 'h', '-1h', '1h ', '1us', '1h1us', ''];
  expect([...holds, ...others].filter(isHold)).toEqual(holds);
});
