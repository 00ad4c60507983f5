import { expect, test } from 'vitest';
import { toConfigName } from '../../src/mco/machine-config.ts';
import type { Referrer } from '../../src/mco/referrer.ts';
import { ConfigReferrers } from '../../src/references/config-referrers.ts';
import { nodeReferrer } from '../support/referrers.ts';

const CONFIG = toConfigName('rendered-worker-a');

const toNode = (name: string, ...fields: string[]) => nodeReferrer(name, CONFIG, ...fields);
const BOTH = ['currentConfig', 'desiredConfig'];
const nodes = (count: number) => Array.from({ length: count }, (_, at) => toNode(`n${at}`, ...BOTH));
const namesOf = (referrers: ConfigReferrers) => referrers.summarize().references.map(({ name }) => name);

function toReferrers(referrers: readonly Referrer[]): ConfigReferrers {
  const config = new ConfigReferrers(CONFIG);
  for (const referrer of referrers) config.update(undefined, referrer);
  return config;
}

test('keeps the position of a referrer that changes', () => {
  const [a, b] = [toNode('a', 'currentConfig'), toNode('b', 'currentConfig')];
  const referrers = toReferrers([a, b]);
  referrers.update(a, toNode('a', 'desiredConfig'));
  expect(namesOf(referrers)).toEqual(['a', 'b']);
  referrers.update(b, toNode('b'));
  expect(namesOf(referrers)).toEqual(['a']);
  referrers.update(toNode('a', 'desiredConfig'), undefined);
  expect([namesOf(referrers), referrers.findFirst(), referrers.count('Node')]).toEqual([[], undefined, 0]);
});

/** The order of kinds is that of messages. */
test('confirms a node before a pool and a pool before a build', () => {
  const others = (['MachineOSBuild', 'MachineConfigPool'] as const).map((kind) => ({ ...toNode('x', 'spec'), kind }));
  const kinds = [...others, toNode('n', 'currentConfig')].map((_, index, all) => {
    return toReferrers(all.slice(0, index + 1)).findFirst()?.kind;
  });
  expect(kinds).toEqual(['MachineOSBuild', 'MachineConfigPool', 'Node']);
});

test('names the first ten referrers of a kind and counts all, with the current fields of one', () => {
  const { references, referrersByKind, total } = toReferrers(nodes(50)).summarize(toNode('n3', 'desiredConfig'));
  expect(new Set(references.map(({ name }) => name)).size).toBe(10);
  expect(references.filter(({ name }) => name === 'n3').map(({ field }) => field)).toEqual(['desiredConfig']);
  expect({ Node: referrersByKind.Node, total }).toEqual({ Node: 50, total: 100 });
});

/** Counts how many referrers the work looks at. */
function countVisits(referrers: readonly Referrer[], work: (config: ConfigReferrers) => void): number {
  let visits = 0;
  const watched = referrers.map((referrer) => {
    const { references } = referrer;
    return Object.defineProperty({ ...referrer }, 'references', { get: () => ((visits += 1), references) });
  });
  const config = toReferrers(watched);
  visits = 0;
  work(config);
  return visits;
}

test('looks at as few of 10,000 referrers as of 20', () => {
  const summarize = (config: ConfigReferrers) => void [config.findFirst(), config.summarize(toNode('n0', ...BOTH))];
  const few = countVisits(nodes(20), summarize);
  expect(few).toBeGreaterThan(0);
  expect(countVisits(nodes(10_000), summarize)).toBe(few);
});
