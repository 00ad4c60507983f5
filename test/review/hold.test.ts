import { toClusterState } from '../support/cluster-state.ts';
import { referencesTo } from '../support/referrers.ts';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { explainHold, findHold } from '../../src/review/hold.ts';
import type { Referrer } from '../../src/mco/referrer.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

interface Case extends Partial<Record<'spec' | 'updated' | 'status' | 'watched' | 'node', number>> {
  readonly is: string;
  readonly hold: string;
  /** How a denial explains the hold. */
  readonly text?: string;
  readonly pool?: string;
  readonly deleted?: true;
  readonly name?: string;
  readonly owner?: string;
  readonly names?: readonly string[];
  readonly config?: number | null;
  /** When the configs that the pool names were created. */
  readonly configs?: Readonly<Record<string, number>>;
}

const CASES = parse(readFileSync(new URL('holds.yaml', import.meta.url), 'utf8')) as readonly Case[];
const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 20);
const toTime = (hours: number | null | undefined) => {
  return typeof hours === 'number' ? new Date(START + Math.round(hours * HOUR)) : undefined;
};

function toReferrers({ pool = 'worker', names = ['new', 'new'], spec, updated, status, node, deleted }: Case) {
  const references = names.flatMap((config, index) => referencesTo(config, index === 0 ? 'spec' : 'status'));
  const referrers: Referrer[] = [
    {
      kind: 'MachineConfigPool',
      name: pool,
      references,
      specChangedAt: toTime(spec),
      updatedChangedAt: toTime(updated),
      statusChangedAt: toTime(status),
      ...(deleted && { isDeletedInForeground: deleted }),
    },
  ];
  const state = { type: 'unreported', createdAt: toTime(node), labels: undefined } as const;
  if (node !== undefined) referrers.push({ kind: 'Node', name: 'fresh', references: [], state });
  return referrers;
}

test.each(CASES)(
  'the hold of a config with a pool $is: $hold',
  ({ hold, text, watched, configs = {}, ...situation }) => {
    const { name = `rendered-worker-${'a'.repeat(32)}`, config = 1, owner } = situation;
    const createdAt = toTime(config);
    const holdable = { name: toConfigName(name), createdAt, ...(owner !== undefined && { ownerPool: owner }) };
    const at = toTime(watched);
    const found = findHold(holdable, toClusterState(holdable.name, toReferrers({ hold, ...situation })), {
      holdMs: 2 * HOUR,
      now: new Date(START + 10 * HOUR),
      createdAt: (other) => toTime(configs[other]),
      findLastUse: () => at && { at, isSeen: false },
    });
    const sinceMs = found && found.since.getTime() - START;
    expect(found === undefined ? 'none' : `${found.cause} ${Number(sinceMs) / HOUR}`).toBe(hold);
    if (text !== undefined) expect(found && explainHold(found)).toBe(text);
    // The times of the API server have no fractions, so one second is added to those of pools and configs.
    const untilMs = Number(sinceMs) + (found?.node === 'fresh' ? 24 * HOUR : 2 * HOUR + 1_000);
    if (found !== undefined) expect([found.pool, found.until.getTime() - START]).toEqual(['worker', untilMs]);
  },
);
