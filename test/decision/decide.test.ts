import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiObject } from '../../src/kube/api-object.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { decide } from '../../src/decision/decide.ts';
import type { ConfigHistory } from '../../src/decision/references.ts';
import {
  parseBuildReferrer,
  parseNodeReferrer,
  parsePoolReferrer,
} from '../../src/references/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';

interface Objects {
  readonly nodes: readonly ApiObject[];
  readonly pools: readonly ApiObject[];
  readonly builds: readonly ApiObject[];
}

type Json = { readonly [key: string]: Json | undefined } & { readonly name?: string };

/** The rule of the design without any code of src. */
function isInUseInModel(config: string, { nodes, pools, builds }: Objects) {
  const group = 'machineconfiguration.openshift.io';
  return (
    nodes.some((object) => {
      const annotations = object.metadata?.annotations ?? {};
      return (
        annotations[`${group}/currentConfig`] === config ||
        annotations[`${group}/desiredConfig`] === config
      );
    }) ||
    pools.some((object) => {
      const { spec, status, metadata } = object as unknown as Json;
      if (metadata?.['deletionTimestamp'] !== undefined) return false;
      return spec?.['configuration']?.name === config || status?.['configuration']?.name === config;
    }) ||
    builds.some((object) => {
      const { spec, status } = object as unknown as Json;
      const conditions = (status?.['conditions'] ?? []) as unknown as { type: string; status: string }[];
      const final = new Set(['Succeeded', 'Failed', 'Interrupted']);
      if (conditions.some(({ type, status }) => status === 'True' && final.has(type))) return false;
      return spec?.['machineConfig']?.name === config || spec?.['desiredConfig']?.name === config;
    })
  );
}

interface Memory {
  readonly watched: number;
  readonly servable: number | undefined;
  readonly removed: number | undefined;
}

/** Of a config that a pool named until a minute. Nothing is known of the time before the watch. */
function isHeldInModel(
  { watched, servable, removed }: Memory,
  { nodes, pools }: Objects,
  name: string,
  now: number,
) {
  const isHeld = (since: number, minutes: number) => since + minutes > now;
  const isUnreported = nodes.some(({ metadata }) => {
    const annotations = metadata?.annotations ?? {};
    return ['currentConfig', 'desiredConfig'].every(
      (field) => (annotations[`machineconfiguration.openshift.io/${field}`] ?? '') === '',
    );
  });
  const hasPool = pools.some(
    ({ metadata }) => metadata?.name === name.slice(9, -33) && metadata?.deletionTimestamp === undefined,
  );
  const unwatched = hasPool && (servable ?? -1) < watched ? watched : undefined;
  const last = Math.max(servable ?? -1, unwatched ?? -1);
  if (last >= 0 && (isHeld(last, 30) || (isUnreported && isHeld(last, 1_440)))) return true;
  return removed !== undefined && isHeld(removed, 30);
}

const objects = fc.record({
  nodes: fc.array(node, { maxLength: 6 }),
  pools: fc.array(pool, { maxLength: 3 }),
  builds: fc.array(build, { maxLength: 3 }),
});
/** They show nothing: a zero-width space, control characters, a soft hyphen, a Hangul filler, an empty Braille cell. */
const INVISIBLE = ['', ' ', '\n\t', '\u200b', '\u0000\u0007', '\u00ad\ufe0f', '\u3164', '\u2800 \u2060'];
const reason = fc.option(fc.constantFrom(...INVISIBLE, 'broken on purpose', '\u200bticket 7', '?', '救'), {
  nil: undefined,
});

const situations = fc.record({
  cluster: objects,
  name: fc.constantFrom(...NAMES),
  override: reason,
  mode: fc.constantFrom('Enforce', 'Warn', 'Audit', 'Disabled'),
  holdSupersededMs: fc.constantFrom(0, 0, 30 * 60_000),
  memory: fc.record({
    watched: fc.integer({ min: 0, max: 100 }),
    servable: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    removed: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
  }),
  isUnreadable: fc.boolean(),
  minutes: fc.integer({ min: 100, max: 2_000 }),
});
type Situation = typeof situations extends fc.Arbitrary<infer Value> ? Value : never;

function expectDecisionOfModel({ cluster, name, override, mode, holdSupersededMs, ...rest }: Situation) {
  const { memory, isUnreadable, minutes } = rest;
  const toDate = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
  const allowDeletion = override === undefined ? {} : { allowDeletion: override };
  const config = { name: toConfigName(name), uid: 'c', ...allowDeletion };
  const review = { uid: 'u', isDryRun: false, user: 'someone', config };
  const state = {
    referrers: [
      ...cluster.nodes.map(parseNodeReferrer),
      ...cluster.pools.map(parsePoolReferrer),
      ...cluster.builds.map(parseBuildReferrer),
    ],
    unreadable: isUnreadable ? [{ name: 'nodes', reason: 'ECONNREFUSED' }] : [],
  };
  const { watched, servable, removed } = memory;
  const history: ConfigHistory = {
    unreadable: undefined,
    watchedSince: toDate(watched),
    createdAt: () => undefined,
    ...(servable === undefined ? {} : { servable: { pool: 'p', until: toDate(servable) } }),
    ...(removed === undefined ? {} : { removedNode: { name: 'n', at: toDate(removed) } }),
  };
  const verdict = decide(
    review,
    holdSupersededMs > 0 ? { ...state, history } : state,
    { mode, holdSupersededMs },
    toDate(minutes),
  );

  let denial: string | undefined;
  if (isInUseInModel(name, cluster)) denial = 'MCG_IN_USE';
  else if (isUnreadable) denial = 'MCG_UNVERIFIED';
  else if (holdSupersededMs > 0 && isHeldInModel(memory, cluster, name, minutes)) denial = 'MCG_HELD';

  let expected = mode === 'Enforce' ? `denied ${denial}` : `would-deny MCG_WOULD_DENY ${denial}`;
  if (!name.startsWith('rendered-')) expected = 'allowed MCG_NOT_IN_USE';
  else if (!INVISIBLE.includes(override ?? '')) expected = 'overridden MCG_OVERRIDDEN';
  else if (mode === 'Disabled') expected = 'allowed MCG_DISABLED';
  else if (denial === undefined) expected = 'allowed MCG_NOT_IN_USE';
  const outcome = [verdict.outcome, verdict.code, verdict.cause]
    .filter((part) => part !== undefined)
    .join(' ');
  expect(outcome).toBe(expected);
  // Kubernetes recommends at most 120 characters (docs: dynamic admission control, response).
  expect(verdict.denialStatus !== undefined).toBe(verdict.outcome === 'denied');
  expect(verdict.message).not.toMatch(/[\r\n]/);
  for (const warning of verdict.warnings) expect(Array.from(warning).length).toBeLessThanOrEqual(120);
}

test('decides as a naive model does, for any cluster, mode, hold and unreadable kind', () => {
  fc.assert(fc.property(situations, expectDecisionOfModel), { numRuns: 5_000 });
});
