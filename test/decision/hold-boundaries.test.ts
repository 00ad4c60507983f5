import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { findHold } from '../../src/decision/hold.ts';
import type { NodeReferrer, PoolReferrer, Referrer } from '../../src/decision/references.ts';

const OLD = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const NEW = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const DAY_S = 86_400;
/** In seconds, as the API server's times. */
const HOLD_S = 100;
const NOW_S = 1_000;

function at(seconds: number): Date {
  return new Date(Date.UTC(2026, 10, 20) + seconds * 1_000);
}

function toPool(fields: readonly string[], times: Partial<PoolReferrer>): PoolReferrer {
  const references = fields.map((field) => ({ field, config: NEW, strength: 'strong' }) as const);
  return { kind: 'MachineConfigPool', name: 'worker', references, ...times };
}

function toNode(name: string, createdAtS: number): NodeReferrer {
  return { kind: 'Node', name, references: [], createdAt: at(createdAtS) };
}

/** Returns the second in which the hold ends, and the node because of which. */
function findEnd(referrers: readonly Referrer[], createdAtS: number | undefined = 1): string {
  const config = { name: OLD, createdAt: Number.isNaN(createdAtS) ? undefined : at(createdAtS) };
  const hold = findHold(config, referrers, {
    holdMs: HOLD_S * 1_000,
    now: at(NOW_S),
    createdAt: (name) => (name === NEW ? at(950) : undefined),
  });
  if (hold === undefined) return 'none';
  return `${(hold.until.getTime() - at(0).getTime()) / 1_000}${hold.node === undefined ? '' : ` ${hold.node}`}`;
}

const BOTH = ['spec', 'status'];
const UNKNOWN = Number.NaN;
/** Changed so long ago that it holds nothing. */
const QUIET = toPool(BOTH, { specChangedAt: at(1), updatedChangedAt: at(2) });
/** A node of this age holds as long as the pool. */
const SAME_S = 901 + HOLD_S - DAY_S;

test.each<[string, string, readonly Referrer[], number?]>([
  [
    'counts from the second after the change',
    '1001',
    [toPool(BOTH, { specChangedAt: at(900), updatedChangedAt: at(899), statusChangedAt: at(900) })],
  ],
  [
    'has ended in the moment of its end',
    'none',
    [toPool(BOTH, { specChangedAt: at(899), updatedChangedAt: at(899), statusChangedAt: at(899) })],
  ],
  [
    'counts a silent move of the status if the condition Updated is missing',
    '1091',
    [toPool(BOTH, { specChangedAt: at(980), statusChangedAt: at(990) })],
  ],
  [
    'counts no move of a status that names nothing',
    '1081',
    [toPool(['spec'], { specChangedAt: at(980), updatedChangedAt: at(1) })],
  ],
  ['counts the creation of the configs without managedFields and condition', '1051', [toPool(BOTH, {})]],
  ['counts from now if the pool names no config and has no times', '1101', [toPool([], {})]],
  ['needs a pool: a node can have its name', 'none', [toNode('worker', 990)]],
  [
    'names no node that holds exactly as long',
    '1001',
    [
      toPool(BOTH, { specChangedAt: at(900), updatedChangedAt: at(900), statusChangedAt: at(900) }),
      toNode('fresh', SAME_S),
    ],
    -DAY_S,
  ],
  ['ends when the node is a day old', '1001 fresh', [QUIET, toNode('fresh', 1_001 - DAY_S)], -DAY_S],
  ['has ended when the node is a day old', 'none', [QUIET, toNode('fresh', NOW_S - DAY_S)], -DAY_S],
  [
    'ends with the youngest node, which comes first',
    `${990 + DAY_S} young`,
    [QUIET, toNode('young', 990), toNode('fresh', 980)],
  ],
  [
    'ends with the youngest node, which comes last',
    `${990 + DAY_S} young`,
    [QUIET, toNode('fresh', 980), toNode('young', 990)],
  ],
  ['ignores a node that joined in the second before the config', '1001', [QUIET, toNode('fresh', 899)], 900],
  [
    'counts a node if the creation of the config is unknown',
    `${990 + DAY_S} fresh`,
    [QUIET, toNode('fresh', 990)],
    UNKNOWN,
  ],
])('a hold %s: %s', (_condition, expected, referrers, createdAtS) => {
  expect(findEnd(referrers, createdAtS)).toBe(expected);
});
