import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { type ConfigExistence, decideReferenceChange } from '../../src/decision/reference-change.ts';
import { MODES } from '../../src/decision/settings.ts';

const TYPO = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd379');
const NEAREST = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const MISSING: ConfigExistence = { state: 'missing', nearest: NEAREST };
const EXISTS: ConfigExistence = { state: 'exists' };
const UNKNOWN: ConfigExistence = { state: 'unknown', reason: '503 Service Unavailable' };

function reference(field: string, config = TYPO) {
  return { kind: 'Node', name: 'worker-0', field, config, strength: 'strong' } as const;
}

function decide(
  references: readonly ReturnType<typeof reference>[],
  existences: readonly (readonly [string, ConfigExistence])[],
  mode: (typeof MODES)[number] = 'Enforce',
) {
  const review = { uid: 'u', user: 'admin', isDryRun: false, references };
  return decideReferenceChange(
    review,
    new Map(existences.map(([name, existence]) => [toConfigName(name), existence])),
    mode,
  );
}

const DENIAL =
  `MCG_UNKNOWN_CONFIG: no MachineConfig is named "${TYPO}", which node worker-0 (currentConfig, desiredConfig) ` +
  `would reference. Did you mean ${NEAREST}? Correct the name, or create the MachineConfig ` +
  'first. Run machineconfig-guard explain MCG_UNKNOWN_CONFIG, or see ' +
  'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md#mcg_unknown_config';

test('denies a reference to a missing config, and names the nearest one', () => {
  const references = [reference('currentConfig'), reference('desiredConfig')];
  expect(decide(references, [[TYPO, MISSING]])).toEqual({
    outcome: 'denied',
    code: 'MCG_UNKNOWN_CONFIG',
    config: TYPO,
    message: DENIAL,
    denialStatus: { code: 403, reason: 'Forbidden' },
    references,
    referencesTotal: 2,
    warnings: [],
  });
});

test('names each missing config with its fields, and quotes it', () => {
  const other = toConfigName('rendered\nworker');
  const { message } = decide(
    [reference('currentConfig'), reference('desiredConfig', other)],
    [
      [TYPO, EXISTS],
      [other, { state: 'missing', nearest: undefined }],
    ],
  );
  expect(message).toContain(
    'is named "rendered worker", which node worker-0 (desiredConfig) would reference. Correct',
  );
  expect(message).not.toContain(TYPO);
});

test.each([
  ['Warn', 2],
  ['Audit', 0],
] as const)('mode %s allows with %d warnings', (mode, count) => {
  const verdict = decide([reference('currentConfig')], [[TYPO, MISSING]], mode);
  expect(verdict).toMatchObject({
    outcome: 'would-deny',
    code: 'MCG_WOULD_DENY',
    cause: 'MCG_UNKNOWN_CONFIG',
  });
  expect(verdict.denialStatus).toBeUndefined();
  expect(verdict.message).toContain(
    `mode ${mode} allows this update; mode Enforce would deny it. MCG_UNKNOWN`,
  );
  expect(verdict.warnings).toEqual(
    [
      `MCG_WOULD_DENY (MCG_UNKNOWN_CONFIG): no MachineConfig is named "${TYPO}"`,
      `Did you mean ${NEAREST}?`,
    ].slice(0, count),
  );
});

test('mode Disabled allows without a look at the configs', () => {
  expect(decide([reference('currentConfig')], [[TYPO, MISSING]], 'Disabled')).toMatchObject({
    outcome: 'allowed',
    code: 'MCG_DISABLED',
    warnings: [],
  });
});

test.each(MODES)('allows a config that could not be read in mode %s', (mode) => {
  const verdict = decide([reference('currentConfig')], [[TYPO, UNKNOWN]], mode);
  expect(verdict.denialStatus).toBeUndefined();
  const warning = `MCG_UNCHECKED: could not check whether MachineConfig "${TYPO}" exists`;
  expect(verdict.warnings).toEqual(mode === 'Enforce' || mode === 'Warn' ? [warning] : []);
});

test('a missing config outweighs one that could not be read', () => {
  const references = [reference('currentConfig', NEAREST), reference('desiredConfig')];
  const existences = [
    [NEAREST, UNKNOWN],
    [TYPO, MISSING],
  ] as const;
  expect(decide(references, existences)).toMatchObject({ outcome: 'denied', config: TYPO });
});

test('allows existing configs, and an update without references', () => {
  const allowed = { outcome: 'allowed', code: 'MCG_KNOWN_CONFIG', warnings: [] };
  expect(decide([reference('currentConfig')], [[TYPO, EXISTS]])).toMatchObject({
    ...allowed,
    config: TYPO,
  });
  expect(decide([], [])).toMatchObject({ ...allowed, config: undefined });
});
