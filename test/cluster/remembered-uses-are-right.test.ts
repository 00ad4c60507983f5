import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ApiObject, MalformedObject } from '../../src/kube/api-object.ts';
import { rememberingUses } from '../../src/references/remembering-uses.ts';
import { parseNodeReferrer } from '../../src/references/parse-referrer.ts';
import { node } from '../policy/arbitrary.ts';

const outcome = (read: (node: ApiObject) => unknown, object: ApiObject): unknown => {
  try {
    return read(object);
  } catch (error) {
    if (error instanceof MalformedObject) return error.message;
    throw error;
  }
};

test('nodes that share their annotations are read as if they did not, also those that cannot be read', () => {
  const read = rememberingUses(parseNodeReferrer);
  const unreadable = { 'machineconfiguration.openshift.io/currentConfig': 7 };
  const annotations = fc.oneof(
    { weight: 9, arbitrary: node.map(({ metadata }) => metadata?.annotations ?? null) },
    { weight: 1, arbitrary: fc.constantFrom(unreadable, {}, null) },
  );
  const name = fc.oneof({ weight: 9, arbitrary: fc.string({ minLength: 1 }) }, fc.constantFrom('', undefined, 7));
  const shared = fc.array(annotations, { minLength: 1, maxLength: 6 }).chain((several) =>
    fc.array(
      fc.record({ name, annotations: fc.constantFrom(...several) }).map((metadata): ApiObject => ({ metadata })),
      { maxLength: 30 },
    ),
  );
  fc.assert(
    fc.property(shared, (nodes) => {
      for (const one of nodes) expect(outcome(read, one)).toEqual(outcome(parseNodeReferrer, one));
    }),
    { numRuns: 1_000 },
  );
});

test('shared annotations are read once', () => {
  let reads = 0;
  const read = rememberingUses((object) => {
    reads += 1;
    return parseNodeReferrer(object);
  });
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': 'rendered-worker-1' };
  const names = ['a', 'b', 'c'].map((one) => read({ metadata: { name: one, annotations } }));
  expect(names.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(reads).toBe(1);
  read({ metadata: { name: 'd', annotations: { ...annotations } } });
  expect(reads).toBe(2);
});
