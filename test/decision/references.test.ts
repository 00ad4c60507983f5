import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import {
  type Reference,
  type Referrer,
  type ReferrerKind,
  summarizeReferences,
} from '../../src/decision/references.ts';

const config = toConfigName('rendered-worker-1');
const STRONG: readonly Reference[] = ['currentConfig', 'desiredConfig'].map((field) => {
  return { field, config, strength: 'strong' };
});
const OTHERS: readonly Reference[] = [
  { field: 'desiredDrain', config, strength: 'weak' },
  { field: 'status', config: toConfigName('rendered-worker-10'), strength: 'strong' },
];

test('counts all references, and returns those of the first referrers of each kind', () => {
  const toReferrer = (kind: ReferrerKind, name: string): Referrer => {
    return { kind, name, references: [...STRONG, ...OTHERS] };
  };
  const nodes = ['a', 'b', 'c'].map((name) => toReferrer('Node', name));
  const referrers = [...nodes, toReferrer('MachineConfigPool', 'a')];
  const { strong, weak } = summarizeReferences(config, referrers, 2);
  const referrersByKind = { Node: 3, MachineConfigPool: 1, MachineOSBuild: 0 };
  expect(strong).toMatchObject({ total: 8, referrersByKind });
  expect(strong.references.map(({ kind, name, field }) => `${kind} ${name} ${field}`)).toEqual(
    ['Node a', 'Node b', 'MachineConfigPool a'].flatMap((name) => STRONG.map(({ field }) => `${name} ${field}`)),
  );
  expect(weak).toMatchObject({ total: 4, referrersByKind });
  expect(weak.references.map(({ name }) => name)).toEqual(['a', 'b', 'a']);
});
