import { anything, assert, property } from 'fast-check';
import { expect, test } from 'vitest';
import { parseSettings, DEFAULT_SETTINGS, MODES } from '../../src/decision/settings.ts';

test.each(MODES)('mode %s', (mode) => {
  expect(parseSettings({ spec: { mode } })).toEqual({ settings: { mode, holdSupersededMs: 0 }, problems: [] });
});

test.each([
  ['0s', 0],
  ['30m', 1_800_000],
  ['24h', 86_400_000],
  ['1h30m', 5_400_000],
  ['720h', 2_592_000_000],
])('holdSuperseded %s', (holdSuperseded, holdSupersededMs) => {
  expect(parseSettings({ spec: { holdSuperseded } })).toEqual({
    settings: { mode: 'Enforce', holdSupersededMs },
    problems: [],
  });
});

test.each([[undefined], [null], [{}], [{ spec: null }], [{ spec: {} }], ['text'], [{ spec: 'text' }]])(
  'nothing said (%j): the default, and no problem',
  (object) => {
    expect(parseSettings(object)).toEqual({ settings: DEFAULT_SETTINGS, problems: [] });
  },
);

test.each([[false], ['Off'], ['enforce'], [''], [null], [7], [{}]])('mode %j: Enforce, and it is said', (mode) => {
  const { settings, problems } = parseSettings({ spec: { mode, holdSuperseded: '1h' } });
  expect(settings).toEqual({ mode: 'Enforce', holdSupersededMs: 3_600_000 });
  expect(problems).toEqual([expect.stringContaining('Enforce holds')]);
});

test.each([[7], ['1'], ['-1h'], ['721h'], ['999999999h'], ['soon'], [null]])(
  'holdSuperseded %j: nothing is held, and it is said; the mode still counts',
  (holdSuperseded) => {
    const { settings, problems } = parseSettings({ spec: { mode: 'Audit', holdSuperseded } });
    expect(settings).toEqual({ mode: 'Audit', holdSupersededMs: 0 });
    expect(problems).toEqual([expect.stringContaining('nothing is held')]);
  },
);

test('whatever is stored: a mode that exists, a hold within bounds, problems in one line each', () => {
  assert(
    property(anything(), anything(), (mode, holdSuperseded) => {
      const { settings, problems } = parseSettings({ spec: { mode, holdSuperseded } });
      expect(MODES).toContain(settings.mode);
      expect(settings.holdSupersededMs).toBeGreaterThanOrEqual(0);
      expect(settings.holdSupersededMs).toBeLessThanOrEqual(2_592_000_000);
      for (const problem of problems) expect(problem).not.toMatch(/\p{Cc}/u);
    }),
  );
});
