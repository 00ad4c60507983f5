import { expect, test } from 'vitest';
import { findHold, type UseHistory } from '../../src/review/hold.ts';
import type { PoolReferrer } from '../../src/mco/referrer.ts';
import type { Settings } from '../../src/api/settings.ts';
import { indexOf } from '../support/reference-index.ts';
import { describeHolds } from '../../src/status/hold-status.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';
import type { ConfigIndex } from '../../src/references/config-index.ts';
import { createFindLastUse } from '../../src/client/guard-report.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const HOLD_MS = 2 * 3_600_000;
const at = (time: string) => new Date(`2026-11-20T${time}Z`);
const toName = (digit: string) => toConfigName(`rendered-worker-${digit.repeat(32)}`);
const [OLD, NAMED, CREATED, CURRENT] = [toName('a'), toName('b'), toName('c'), toName('d')];

/** A pool that named a config at 11:00. One of its machines has turned ready since. */
const POOL: PoolReferrer = {
  kind: 'MachineConfigPool',
  name: 'worker',
  version: '7',
  references: [{ field: 'spec', config: CURRENT, strength: 'strong' }],
  specChangedAt: at('11:00:00'),
  updatedChangedAt: at('11:30:00'),
};
const history: UseHistory = {
  createdAt: () => undefined,
  findLastUse: (_pool, config) => ({ at: at(config === NAMED ? '11:00:00' : '01:00:00'), isSeen: true }),
};
const toConfig = (name: ConfigName) => ({ name, createdAt: at(name === CREATED ? '11:45:00' : '00:00:00') });

function describe() {
  const names = [OLD, NAMED, CREATED, CURRENT, toConfigName('00-worker')];
  const pools = { list: () => [{ name: 'worker', version: '7', since: at('00:30:00') }] };
  const index = Object.assign(indexOf([POOL]), { pools: Object.assign(indexOf([POOL]).pools, pools) });
  const configs = { objects: new Map(names.map((name) => [name, toConfig(name)])) } as unknown as ConfigIndex;
  const settings: Settings = { mode: 'Enforce', holdSupersededMs: HOLD_MS };
  return describeHolds({ configs, index, settings, now: NOW, history });
}

/** By the rule that needs no memory. */
const BY_POOL_ALONE = ['13:30:01', '13:30:01', '13:45:01'];

test.each<[string, unknown, Partial<PoolReferrer>, readonly (string | undefined)[]]>([
  ['gives the holds of the guard', describe(), {}, [undefined, '13:00:01', '13:45:01']],
  ['knows less than the guard without a status', undefined, {}, BY_POOL_ALONE],
  ['ignores the status after a change of the pool', describe(), { version: '8' }, BY_POOL_ALONE],
  ['ignores the status if it does not list all holds', { ...describe(), heldCount: 3 }, {}, BY_POOL_ALONE],
  ['ignores the status of another hold', { ...describe(), holdSuperseded: '1h' }, {}, BY_POOL_ALONE],
])('a client that reads the status %s', (_case, status, change, expected) => {
  const findLastUse = createFindLastUse(status, HOLD_MS);
  const options = { holdMs: HOLD_MS, now: NOW, createdAt: history.createdAt, findLastUse };
  const holds = [OLD, NAMED, CREATED].map((name) =>
    findHold(toConfig(name), { pools: [{ ...POOL, ...change }], unreportedNodes: [] }, options),
  );
  expect(holds.map((hold) => hold?.until.toISOString().slice(11, 19))).toEqual(expected);
});
