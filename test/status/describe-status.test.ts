import { expect, test } from 'vitest';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { MACHINE_CONFIGS } from '../../src/mco/resources.ts';
import { parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { describeStatus, findStalledRestores } from '../../src/status/describe-status.ts';
import type { StatusInput } from '../../src/status/status-input.ts';
import type { PoolReferrer } from '../../src/mco/referrer.ts';
import { INTERMEDIATE } from '../../src/serving/tls-profile.ts';
import { indexOf } from '../support/reference-index.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const POOL = parsePoolReferrer({ metadata: { name: 'worker' } });

/** An index that has listed these pools. */
function toIndex(pools: readonly PoolReferrer[]): StatusInput['index'] {
  return {
    byConfig: indexOf(pools).byConfig,
    listPools: () => [...pools],
    listUnreportedNodes: () => [],
    reflectors: [],
  };
}

const EMPTY: StatusInput = {
  index: toIndex([POOL]),
  configs: { isForbidden: false, objects: new Map(), resource: MACHINE_CONFIGS, silentMs: 0 },
  history: { createdAt: () => undefined },
  settings: { mode: 'Enforce', holdSupersededMs: 7_200_000 },
  findings: [],
  protectedConfigs: 0,
  expiries: [],
  tlsProfile: { profile: INTERMEDIATE },
  now: NOW,
};

function describeCondition(type: string, input: Partial<StatusInput>) {
  return describeStatus({ ...EMPTY, ...input }).conditions.find((condition) => condition.type === type);
}

test('a restore is stalled if it paused its pool more than an hour ago, or at an unknown time', () => {
  const config = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
  const [recent, old, undated] = ['2026-11-21T11:00:00Z', '2026-11-21T10:59:59Z', undefined].map((time) => {
    return { ...POOL, pausedForRestore: { config, since: time === undefined ? undefined : new Date(time) } };
  });
  const pools = [POOL, recent, old, undated].filter((each) => each !== undefined);
  expect(findStalledRestores(pools, NOW)).toEqual([old, undated]);
});

test.each([
  ['2026-12-21T12:00:00Z', false, 'True', 'Valid', 'serving until 2026-12-21'],
  ['2026-12-21T11:59:59Z', false, 'True', 'ExpiresSoon', 'serving until 2026-12-21 (renew it at its issuer)'],
  ['2026-12-21T11:59:59Z', true, 'True', 'Valid', 'serving until 2026-12-21'],
  ['2026-11-21T12:00:01Z', true, 'True', 'Valid', 'serving until 2026-11-21'],
  ['2026-11-21T12:00:00Z', true, 'False', 'Expired', 'serving until 2026-11-21'],
] as const)('a certificate until %s, renewed by the guard: %s, is %s %s', (until, isRenewedByGuard, ...expected) => {
  const expiries = [{ certificate: 'serving', notAfter: new Date(until), isRenewedByGuard }] as const;
  const [status, reason, message] = expected;
  expect(describeCondition('CertificatesValid', { expiries })).toEqual({
    type: 'CertificatesValid',
    status,
    reason,
    message,
  });
});

test('describes a cluster without findings', () => {
  const { conditions, ...status } = describeStatus({ ...EMPTY, protectedConfigs: 7 });
  expect(status).toEqual({
    mode: 'Enforce',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
    protectedConfigs: 7,
    danglingCount: 0,
    danglingReferences: [],
    holdSuperseded: '2h',
    heldCount: 0,
    heldConfigs: [],
  });
  expect(conditions.map(({ type, status: value, reason }) => [type, value, reason])).toEqual([
    ['Ready', 'True', 'Serving'],
    ['ReferencesConsistent', 'True', 'AllExist'],
    ['RestoresComplete', 'True', 'NoneStalled'],
    ['OverridesUnused', 'True', 'NoneInUse'],
    ['CertificatesValid', 'True', 'Valid'],
    ['TLSProfileApplied', 'True', 'Intermediate'],
  ]);
});

test('lists 50 of 51 held configs, and counts all', () => {
  const names = Array.from({ length: 51 }, (_, index) =>
    toConfigName(`rendered-worker-${String(index).padStart(32, '0')}`),
  );
  const toConfig = (name: (typeof names)[number]) => {
    return { name, uid: 'u', createdAt: NOW, isTerminating: false, isOverridden: false };
  };
  const objects = new Map(names.map((name) => [name, toConfig(name)]));
  const { heldCount, heldConfigs, holdSuperseded } = describeStatus({
    ...EMPTY,
    configs: { ...EMPTY.configs, objects },
  });
  expect([holdSuperseded, heldCount, heldConfigs?.length]).toEqual(['2h', 51, 50]);
  const reason = 'nothing dates the last change of pool worker, and a machine may be booting with it';
  // The API server cuts the fractions of its times, so a hold is a second longer.
  expect(heldConfigs?.[49]).toEqual({ name: names[49], pool: 'worker', until: '2026-11-21T14:00:01Z', reason });
});

test('names 3 configs whose annotation allows their deletion, and 3 pools that stay paused', () => {
  const names = Array.from({ length: 4 }, (_, index) => toConfigName(`rendered-worker-${String(index).repeat(32)}`));
  const pools = names.map((config, index) => ({
    ...parsePoolReferrer({ metadata: { name: `pool${index}` }, spec: { configuration: { name: config } } }),
    pausedForRestore: { config, since: undefined },
  }));
  const objects = new Map(names.map((name) => [name, { name, isOverridden: true }]));
  const input = { index: toIndex(pools), configs: { ...EMPTY.configs, objects: objects as never } };
  expect(describeCondition('OverridesUnused', input)?.message).toBe(
    'in use, but the annotation machineconfig-guard.io/allow-deletion lets them be deleted: ' +
      `${names[0]}, ${names[1]}, ${names[2]} and 1 more`,
  );
  expect(describeCondition('RestoresComplete', input)?.message.match(/pool\d is paused/g)).toHaveLength(3);
});
