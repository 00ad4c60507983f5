import { expect, test } from 'vitest';
import { parseSettings, DEFAULT_SETTINGS, MODES } from '../../src/decision/settings.ts';

test.each(MODES)('reads the mode %s and the longest hold', (mode) => {
  const settings = { mode, holdSupersededMs: 2_592_000_000 };
  expect(parseSettings({ spec: { mode, holdSuperseded: '720h' } })).toEqual({ settings, problems: [] });
});

test.each([[undefined], [{}], [{ spec: null }], [{ spec: 'text' }]])(
  'uses Enforce and a hold of 2 h for %j, without a problem',
  (object) => {
    const settings = { mode: 'Enforce', holdSupersededMs: 7_200_000 };
    expect(parseSettings(object)).toEqual({ settings, problems: [] });
    expect(DEFAULT_SETTINGS).toEqual(settings);
  },
);

test.each([[false], ['enforce'], [''], [null]])('uses Enforce for the mode %j, and reports a problem', (mode) => {
  const { settings, problems } = parseSettings({ spec: { mode, holdSuperseded: '1h' } });
  expect(settings).toEqual({ mode: 'Enforce', holdSupersededMs: 3_600_000 });
  const value = JSON.stringify(mode);
  expect(problems).toEqual([`spec.mode ${value} is not one of Enforce, Warn, Audit, Disabled; using Enforce`]);
});

test.each([[7], ['-1h'], ['721h'], [null]])(
  'uses the longest hold for holdSuperseded %j, reports a problem, and reads the mode',
  (holdSuperseded) => {
    const { settings, problems } = parseSettings({ spec: { mode: 'Audit', holdSuperseded } });
    expect(settings).toEqual({ mode: 'Audit', holdSupersededMs: 2_592_000_000 });
    const value = JSON.stringify(holdSuperseded);
    expect(problems).toEqual([`spec.holdSuperseded ${value} is not a duration of at most 720h; using 720h`]);
  },
);

test('reports problems without control characters', () => {
  const { problems } = parseSettings({ spec: { mode: 'a\u0085b', holdSuperseded: '\u009b31m' } });
  expect(problems).toHaveLength(2);
  expect(problems.join(' ')).not.toMatch(/\p{Cc}/u);
});
