import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiObject } from '../../src/kube/api-object.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { decide } from '../../src/decision/decide.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';

type Objects = Readonly<Record<'nodes' | 'pools' | 'builds', readonly ApiObject[]>>;

type Json = { readonly [key: string]: Json | undefined } & { readonly name?: string };

/** The rule of the design without any code of src. */
function isInUseInModel(config: string, { nodes, pools, builds }: Objects) {
  const group = 'machineconfiguration.openshift.io';
  return (
    nodes.some((object) => {
      const annotations = object.metadata?.annotations ?? {};
      return annotations[`${group}/currentConfig`] === config || annotations[`${group}/desiredConfig`] === config;
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
  isUnreadable: fc.boolean(),
});
type Situation = typeof situations extends fc.Arbitrary<infer Value> ? Value : never;

function expectDecisionOfModel({ cluster, name, override, mode, isUnreadable }: Situation) {
  const { nodes, pools, builds } = cluster;
  const allowDeletion = override === undefined ? {} : { allowDeletion: override };
  const config = { name: toConfigName(name), uid: 'c', createdAt: undefined, ...allowDeletion };
  const review = { uid: 'u', isDryRun: false, user: 'someone', config };
  const state = {
    referrers: [...nodes.map(parseNodeReferrer), ...pools.map(parsePoolReferrer), ...builds.map(parseBuildReferrer)],
    unreadable: isUnreadable ? [{ name: 'nodes', reason: 'ECONNREFUSED' }] : [],
    readAt: new Date(),
  };
  const verdict = decide(review, state, { mode, holdSupersededMs: 0 }, () => undefined);

  let denial: string | undefined;
  if (isInUseInModel(name, cluster)) denial = 'MCG_IN_USE';
  else if (isUnreadable) denial = 'MCG_UNVERIFIED';

  let expected = mode === 'Enforce' ? `denied ${denial}` : `would-deny MCG_WOULD_DENY ${denial}`;
  if (!name.startsWith('rendered-')) expected = 'allowed MCG_NOT_IN_USE';
  else if (!INVISIBLE.includes(override ?? '')) expected = 'overridden MCG_OVERRIDDEN';
  else if (mode === 'Disabled') expected = 'allowed MCG_DISABLED';
  else if (denial === undefined) expected = 'allowed MCG_NOT_IN_USE';
  const outcome = [verdict.outcome, verdict.code, verdict.cause].filter((part) => part !== undefined).join(' ');
  expect(outcome).toBe(expected);
  // Kubernetes recommends at most 120 characters (docs: dynamic admission control, response).
  expect(verdict.denialStatus !== undefined).toBe(verdict.outcome === 'denied');
  expect(verdict.message).not.toMatch(/[\r\n]/);
  for (const warning of verdict.warnings) expect(Array.from(warning).length).toBeLessThanOrEqual(120);
}

test('decides as a naive model does, for any cluster, mode and unreadable kind', () => {
  fc.assert(fc.property(situations, expectDecisionOfModel), { numRuns: 5_000 });
});
