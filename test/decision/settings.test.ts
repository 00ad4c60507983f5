import { anything, assert, property } from 'fast-check';
import { expect, test } from 'vitest';
import { parseSettings, DEFAULT_SETTINGS, MODES } from '../../src/decision/settings.ts';

test.each(MODES)('reads the mode %s', (mode) => {
  expect(parseSettings({ spec: { mode } })).toEqual({ settings: { mode, holdSupersededMs: 0 }, problems: [] });
});

test.each([
  ['0s', 0],
  ['30m', 1_800_000],
  ['24h', 86_400_000],
  ['1h30m', 5_400_000],
  ['720h', 2_592_000_000],
])('reads holdSuperseded %s', (holdSuperseded, holdSupersededMs) => {
  expect(parseSettings({ spec: { holdSuperseded } })).toEqual({
    settings: { mode: 'Enforce', holdSupersededMs },
    problems: [],
  });
});

test.each([[undefined], [null], [{}], [{ spec: null }], [{ spec: {} }], ['text'], [{ spec: 'text' }]])(
  'uses the defaults for %j, without a problem',
  (object) => {
    expect(parseSettings(object)).toEqual({ settings: DEFAULT_SETTINGS, problems: [] });
  },
);

test.each([[false], ['Off'], ['enforce'], [''], [null], [7], [{}]])(
  'uses Enforce for the mode %j, and reports a problem',
  (mode) => {
    const { settings, problems } = parseSettings({ spec: { mode, holdSuperseded: '1h' } });
    expect(settings).toEqual({ mode: 'Enforce', holdSupersededMs: 3_600_000 });
    expect(problems).toEqual([expect.stringContaining('Enforce holds')]);
  },
);

test.each([[7], ['1'], ['-1h'], ['721h'], ['999999999h'], ['soon'], [null]])(
  'holds nothing for holdSuperseded %j, reports a problem, and reads the mode',
  (holdSuperseded) => {
    const { settings, problems } = parseSettings({ spec: { mode: 'Audit', holdSuperseded } });
    expect(settings).toEqual({ mode: 'Audit', holdSupersededMs: 0 });
    expect(problems).toEqual([expect.stringContaining('nothing is held')]);
  },
);

test('returns a valid mode, a hold within bounds and problems of one line for any value', () => {
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
