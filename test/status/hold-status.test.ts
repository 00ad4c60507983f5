import { expect, test } from 'vitest';
import type { UseHistory } from '../../src/review/hold.ts';
import type { PoolReferrer } from '../../src/mco/referrer.ts';
import type { Settings } from '../../src/api/settings.ts';
import { indexOf } from '../support/reference-index.ts';
import { describeHolds } from '../../src/status/hold-status.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';
import type { ConfigIndex } from '../../src/references/config-index.ts';

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

test('lists the holds of the guard, the longest first, and what it has seen of the pools', () => {
  const { heldConfigs, ...others } = describe();
  expect(heldConfigs?.map(({ name, pool, until }) => [name, pool, until])).toEqual([
    [CREATED, 'worker', '2026-11-20T13:45:01Z'],
    [NAMED, 'worker', '2026-11-20T13:00:01Z'],
  ]);
  expect(others).toEqual({ holdSuperseded: '2h', heldCount: 2 });
});
