import { expect, test } from 'vitest';
import { parseReferenceReview } from '../../src/webhook/parse-reference-review.ts';
import { BadReview } from '../../src/webhook/parse-review.ts';
import { finish, NAME, nodeUpdateBody, UID } from '../support/review.ts';

const OTHER = 'rendered-worker-00000000000000000000000000000000';
const CURRENT = 'machineconfiguration.openshift.io/currentConfig';
const DESIRED = 'machineconfiguration.openshift.io/desiredConfig';
const DRAIN = 'machineconfiguration.openshift.io/desiredDrain';

function parse(change: Record<string, unknown>) {
  return finish(parseReferenceReview(Buffer.from(JSON.stringify(nodeUpdateBody(change)))));
}

function node(annotations: Record<string, unknown> | null) {
  return { metadata: { name: 'worker-0', annotations } };
}

function parseNodeUpdate(before: Record<string, unknown> | null, after: Record<string, unknown> | null) {
  const { references } = parse({ oldObject: node(before), object: node(after) });
  return references.map(({ field, config }) => [field, config]);
}

function parsePoolUpdate(before: object, after: object) {
  const resource = {
    group: 'machineconfiguration.openshift.io',
    version: 'v1',
    resource: 'machineconfigpools',
  };
  const metadata = { name: 'worker' };
  const change = { resource, oldObject: { metadata, ...before }, object: { metadata, ...after } };
  return parse(change).references.map(({ kind, name, field, config }) => [kind, name, field, config]);
}

function naming(name: string) {
  return { configuration: { name, source: [{ name: '00-worker' }] } };
}

test('parses the request and the changed reference', () => {
  expect(parse({ dryRun: true })).toEqual({
    uid: UID,
    user: 'kube:admin',
    isDryRun: true,
    references: [
      { kind: 'Node', name: 'worker-0', field: 'desiredConfig', config: NAME, strength: 'strong' },
    ],
  });
});

test.each([
  ['adds an annotation', { a: 'b' }, { a: 'b', [CURRENT]: NAME }, [['currentConfig', NAME]]],
  ['adds the first annotation', null, { [DESIRED]: NAME }, [['desiredConfig', NAME]]],
  ['changes an annotation', { [DESIRED]: OTHER }, { [DESIRED]: NAME }, [['desiredConfig', NAME]]],
  [
    'changes both annotations',
    { [CURRENT]: OTHER, [DESIRED]: OTHER },
    { [CURRENT]: NAME, [DESIRED]: NAME },
    [
      ['currentConfig', NAME],
      ['desiredConfig', NAME],
    ],
  ],
  [
    'copies the name of the other annotation',
    { [CURRENT]: NAME, [DESIRED]: OTHER },
    { [CURRENT]: NAME, [DESIRED]: NAME },
    [['desiredConfig', NAME]],
  ],
  ['keeps the annotations', { [CURRENT]: NAME }, { [CURRENT]: NAME, a: 'b' }, []],
  ['removes an annotation', { [CURRENT]: NAME }, { a: 'b' }, []],
  ['removes every annotation', { [CURRENT]: NAME }, null, []],
  ['empties an annotation', { [CURRENT]: NAME }, { [CURRENT]: '' }, []],
  ['changes a weak reference', {}, { [DRAIN]: `drain-${NAME}` }, []],
])('finds the changed references of an update that %s', (_case, before, after, references) => {
  expect(parseNodeUpdate(before, after)).toEqual(references);
});

test('finds the changed references of a pool', () => {
  const before = { spec: naming(OTHER), status: naming(OTHER) };
  expect(parsePoolUpdate(before, { ...before, spec: naming(NAME) })).toEqual([
    ['MachineConfigPool', 'worker', 'spec', NAME],
  ]);
  expect(parsePoolUpdate({ spec: naming(OTHER) }, { spec: naming(OTHER), status: naming(NAME) })).toEqual([
    ['MachineConfigPool', 'worker', 'status', NAME],
  ]);
  expect(parsePoolUpdate(before, before)).toEqual([]);
});

test('keeps one character more of a name than a name can have', () => {
  expect(parseNodeUpdate({}, { [DESIRED]: 'x'.repeat(1_000) })).toEqual([
    ['desiredConfig', 'x'.repeat(254)],
  ]);
});

test.each([
  { operation: 'CREATE', oldObject: null },
  { operation: 'DELETE', object: null },
  { resource: { group: '', version: 'v1', resource: 'pods' } },
  { resource: { group: 'example.com', version: 'v1', resource: 'nodes' } },
])('finds no reference in a review of %j', (change) => {
  expect(parse(change).references).toEqual([]);
});

test.each([{ oldObject: null }, { object: null }, { object: { metadata: { name: 5 } } }])(
  'throws a BadReview with the uid for %j',
  (change) => {
    const parseChanged = () => parse(change);
    expect(parseChanged).toThrow(BadReview);
    const message = 'the request has no object with a name, or no oldObject';
    expect(parseChanged).toThrow(expect.objectContaining({ message, uid: UID }) as Error);
  },
);
