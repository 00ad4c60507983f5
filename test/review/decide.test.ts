import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiObject } from '../../src/kube/api-object.ts';
import { toClusterState } from '../support/cluster-state.ts';
import { decide } from '../../src/review/decide.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';
import { checkProperty } from '../support/check-property.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

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
      const { spec, status } = object as unknown as Json;
      if (isDeletedInForeground(object)) return false;
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

function isDeletedInForeground({ metadata }: ApiObject): boolean {
  return ((metadata?.finalizers ?? []) as readonly string[]).includes('foregroundDeletion');
}

/** When the parts of the cluster last changed, in seconds. The guard may remember the last lastUse. */
type Times = Readonly<Record<'spec' | 'updated' | 'status' | 'config' | 'node', number>> & {
  readonly lastUse: number | undefined;
};

const HOLD_S = 30 * 60;
const DAY_S = 86_400;

/** The rule of docs/internals/decisions/0010, without any code of src. */
function isHeldInModel(times: Times, { nodes, pools }: Objects, name: string, now: number): boolean {
  const pool = pools.find((object) => {
    return object.metadata?.name === name.slice(9, -33) && !isDeletedInForeground(object);
  }) as unknown as Json | undefined;
  if (pool === undefined) return false;
  const names = ['spec', 'status'].map((field) => pool[field]?.['configuration']?.name ?? '');
  const isSettled = names[0] === names[1] && names[0] !== '';
  const updated = Math.min(times.updated, times.status);
  const statusMoved = isSettled && updated <= times.spec ? times.status : updated;
  const lastNamed = Math.min(Math.max(times.spec, statusMoved), times.lastUse ?? Number.POSITIVE_INFINITY);
  if (Math.max(lastNamed, times.config) + 1 + HOLD_S > now) return true;
  const isBooting = nodes.some(({ metadata }) => {
    const value = metadata?.annotations?.['machineconfiguration.openshift.io/currentConfig'];
    return (value ?? '') === '';
  });
  return isBooting && times.node + DAY_S > now && times.node + 1 > times.config;
}

/** Adds the times as the API server records them. */
function addTimes({ nodes, pools, builds }: Objects, times: Times, toTime: (second: number) => string): Objects {
  const entry = (second: number, field: string, subresource?: string) => ({
    time: toTime(second),
    fieldsV1: { [`f:${field}`]: { 'f:configuration': {} } },
    subresource,
  });
  const managedFields = [entry(times.spec, 'spec'), entry(times.status, 'status', 'status')];
  const conditions = [{ type: 'Updated', lastTransitionTime: toTime(times.updated) }];
  const addMetadata = (object: ApiObject, more: object) => ({ ...object, metadata: { ...object.metadata, ...more } });
  return {
    nodes: nodes.map((object) => addMetadata(object, { creationTimestamp: toTime(times.node) })),
    pools: pools.map((object) => {
      const status = { ...(object.status as object | undefined), conditions };
      return { ...addMetadata(object, { managedFields }), status };
    }),
    builds,
  };
}

const objects: fc.Arbitrary<Objects> = fc.record({
  nodes: fc.array(node, { maxLength: 6 }),
  pools: fc.array(pool, { maxLength: 3 }),
  builds: fc.array(build, { maxLength: 3 }),
});
/** They show nothing: a zero-width space, control characters, a soft hyphen, a Hangul filler, an empty Braille cell. */
const INVISIBLE = ['', ' ', '\n\t', '\u200b', '\u0000\u0007', '\u00ad\ufe0f', '\u3164', '\u2800 \u2060'];
const reason = fc.option(fc.constantFrom(...INVISIBLE, 'broken on purpose', '\u200bticket 7', '?', '救'), {
  nil: undefined,
});

/** Few, so that every order and every equality of two times occurs, also at the end of a hold. */
const second = fc.nat(2);
const endOf = (seconds: number) => fc.integer({ min: seconds - 1, max: seconds + 3 });

const fields = {
  cluster: objects,
  name: fc.constantFrom<string>(...NAMES),
  override: reason,
  mode: fc.constantFrom('Enforce', 'Warn', 'Audit', 'Disabled'),
  holdSupersededMs: fc.constantFrom(0, HOLD_S * 1_000),
  times: fc.record({
    spec: second,
    updated: second,
    status: second,
    config: second,
    node: second,
    lastUse: fc.option(second, { nil: undefined }),
  }),
  isUnreadable: fc.boolean(),
  now: fc.oneof(endOf(HOLD_S), endOf(DAY_S)),
};
type Situation = {
  readonly [Key in keyof typeof fields]: (typeof fields)[Key] extends fc.Arbitrary<infer Value> ? Value : never;
};
const configuration = fc.constantFrom(NAMES[0], NAMES[1]).map((config) => ({ configuration: { name: config } }));
const worker = fc.record({ metadata: fc.constant({ name: 'worker' }), spec: configuration, status: configuration });
/** A hold decides about a config that nothing references. */
const UNUSED = {
  cluster: fc.record({ nodes: fc.array(node, { maxLength: 2 }), pools: fc.tuple(worker), builds: fc.constant([]) }),
  name: fc.constant('rendered-worker-00000000000000000000000000000003'),
  override: fc.constant(undefined),
  mode: fc.constant('Enforce' as const),
  holdSupersededMs: fc.constant(HOLD_S * 1_000),
  isUnreadable: fc.constant(false),
};

function expectDecisionOfModel({ cluster, name, override, mode, holdSupersededMs, ...rest }: Situation) {
  const { times, isUnreadable, now } = rest;
  const toDate = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
  const allowDeletion = override === undefined ? {} : { allowDeletion: override };
  const config = { name: toConfigName(name), uid: 'c', createdAt: toDate(times.config), ...allowDeletion };
  const review = { uid: 'u', isDryRun: false, user: 'someone', config };
  const { nodes, pools, builds } = addTimes(cluster, times, (second) => toDate(second).toISOString());
  const referrers = [
    ...nodes.map(parseNodeReferrer),
    ...pools.map(parsePoolReferrer),
    ...builds.map(parseBuildReferrer),
  ];
  const unreadable = isUnreadable ? [{ name: 'nodes', reason: 'ECONNREFUSED' }] : [];
  const state = toClusterState(config.name, referrers, { unreadable, readAt: toDate(now) });
  const { lastUse } = times;
  const findLastUse = () => (lastUse === undefined ? undefined : { at: toDate(lastUse), isSeen: true });
  const verdict = decide(review, state, { mode, holdSupersededMs }, { createdAt: () => undefined, findLastUse });

  let denial: string | undefined;
  if (isInUseInModel(name, cluster)) denial = 'MCG_IN_USE';
  else if (isUnreadable) denial = 'MCG_UNVERIFIED';
  else if (holdSupersededMs > 0 && isHeldInModel(times, cluster, name, now)) denial = 'MCG_HELD';

  let expected = mode === 'Enforce' ? `denied ${denial}` : `would-deny MCG_WOULD_DENY ${denial}`;
  if (!name.startsWith('rendered-')) expected = 'allowed MCG_NOT_RENDERED';
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

test.each<[string, fc.Arbitrary<Situation>]>([
  ['any cluster, mode, hold and unreadable kind', fc.record(fields)],
  ['an unused config at the end of a hold', fc.record({ ...fields, ...UNUSED })],
])('decides as a naive model does, for %s', (_title, situation) => {
  checkProperty(fc.property(situation, expectDecisionOfModel), 1_000);
});
