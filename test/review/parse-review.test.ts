import { expect, test, vi } from 'vitest';
import { parseReview } from '../../src/review/parse-review.ts';
import { measureHeap } from '../support/collect-garbage.ts';
import { NAME, reviewBody, UID } from '../support/review.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../src/api/annotations.ts';
import { BadReview } from '../../src/review/review-fault.ts';

const GROUP = 'machineconfiguration.openshift.io';
const NOT_JSON = 'the request body is not JSON';
const GOOD = JSON.stringify(reviewBody());

function parse(body: unknown) {
  return parseReview(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}

/** The uid and the message of the problem of a body. */
function findProblem(body: unknown) {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof BadReview) return { uid: error.uid, message: error.message };
    throw error;
  }
  throw new Error('the review was accepted');
}

const withOldObject = (metadata: object) => reviewBody({ name: undefined, oldObject: { metadata } });

test('accepts a review with unknown fields, and takes the config from oldObject', () => {
  expect(parse({ ...reviewBody({ newField: {} }), newField: 1 })).toEqual({
    uid: UID,
    isDryRun: false,
    user: 'kube:admin',
    config: { name: NAME, uid: 'c-uid', createdAt: undefined },
  });
});

const toResource = (group: string, version: string, resource: string) => ({ resource: { group, version, resource } });

test.each([
  ['no name, as in a DELETECOLLECTION', { name: undefined }, NAME],
  ['another version', toResource(GROUP, 'v2', 'machineconfigs'), NAME],
  ['another operation', { operation: 'UPDATE' }, undefined],
  ['another group', toResource('', 'v1', 'machineconfigs'), undefined],
  ['another resource', toResource(GROUP, 'v1', 'machineconfigpools'), undefined],
])('accepts a review with %s (%j), which is about the config %s', (_case, change, name) => {
  expect(parse(reviewBody(change)).config?.name).toBe(name);
});

const REASON = { [ALLOW_DELETION_ANNOTATION]: 'CHG-7' };
const FILE = { path: '/etc/x', mode: 420, overwrite: true, contents: { source: 'data:,', compression: '' } };
const OWNER = { kind: 'Pod', name: 'p', uid: 'u' };
const OWNER_POOL = { ...OWNER, kind: 'MachineConfigPool' };
const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']));
const repeat = <T>(count: number, value: T) => Array.from({ length: count }, () => value);

// The largest objects that etcd stores (1.5 MiB), and reviews that only somebody else sends.
test.each([
  ['6,500 files', { oldObject: { spec: { config: { storage: { files: repeat(6_500, FILE) } } } } }],
  ['80,000 annotations before the reason', { metadata: { annotations: { ...entries(80_000), ...REASON } } }],
  ['20,000 owners', { metadata: { ownerReferences: [...repeat(9, OWNER), OWNER_POOL, ...repeat(20_000, OWNER)] } }],
  ['a million empty arrays', { review: { padding: repeat(1_000_000, []) } }],
  ['strings that consist of brackets, commas and quotes', { review: { text: '[{",}]\\'.repeat(100_000), last: '\\' } }],
])(
  'parses only what it needs of a review with %s',
  (_case, { metadata, oldObject, review }: Record<string, object>) => {
    const object = { metadata: { name: NAME, uid: 'c-uid', annotations: REASON, ...metadata }, ...oldObject };
    const body = JSON.stringify(reviewBody({ ...review, oldObject: object }));
    const parseJson = vi.spyOn(JSON, 'parse');
    const { config } = parse(body);
    const parsedLength = parseJson.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    const ownerPool = metadata && 'ownerReferences' in metadata ? 'p' : undefined;
    expect(config).toMatchObject({ name: NAME, allowDeletion: 'CHG-7', ...(ownerPool && { ownerPool }) });
    expect(parsedLength).toBeLessThan(5_000);
  },
);

const withReason = (reason: string) =>
  parse(withOldObject({ name: NAME, annotations: { [ALLOW_DELETION_ANNOTATION]: reason } })).config?.allowDeletion;

test.each([
  ['CHG-7', 'CHG-7'],
  ['CHG\n\u202E7', 'CHG 7'],
  [`${' '.repeat(300)}CHG-7`, 'CHG-7'],
  [`${'\n'.repeat(2 ** 18)}CHG-7\n`, 'CHG-7'],
  ['x'.repeat(256), 'x'.repeat(256)],
  ['x'.repeat(257), `${'x'.repeat(253)}...`],
  ['', ''],
  ['\u3164'.repeat(300), ''],
  [`${'\u200B'.repeat(2_000)}CHG-7`, 'CHG-7'],
])('reads from the annotation %j the reason %j', (annotation, reason) => {
  expect(withReason(annotation)).toBe(reason);
});

test('keeps no more of the body than it needs', () => {
  const characters = ['x', '\n'];
  const bodies = characters.map((character) => {
    const long = character.repeat(2 ** 18);
    const oldObject = { metadata: { name: NAME, annotations: { [ALLOW_DELETION_ANNOTATION]: long } } };
    return Buffer.from(JSON.stringify(reviewBody({ oldObject, userInfo: { username: long } })));
  });
  const before = measureHeap();
  const reviews = bodies.map((body) => Array.from({ length: 50 }, () => parseReview(body)));
  expect(measureHeap() - before).toBeLessThan(5 * 2 ** 20);
  const reasons = reviews.map((same) => same[49]?.config?.allowDeletion);
  expect(reasons).toEqual([`${'x'.repeat(253)}...`, '']);
});

test('rejects a review that is cut short anywhere, and finds its uid if that is complete', () => {
  for (let length = 1; length < GOOD.length; length += 1) {
    const uid = length > GOOD.indexOf(UID) + UID.length ? UID : '';
    expect(findProblem(GOOD.slice(0, length)), `first ${length} bytes`).toEqual({ uid, message: NOT_JSON });
  }
});

const NO_OBJECT = 'the request has no oldObject, so the deleted object is unknown';
const NO_NAME = 'oldObject has no valid name';
const EXPECTED = 'expected an AdmissionReview of admission.k8s.io/v1, got ';

test.each([
  ['an empty body', '', '', 'the request has no body'],
  ['a field twice', GOOD.replace('"name":', '"name":"rendered-x","name":'), UID, NOT_JSON],
  ['a field without a value', GOOD.replace('"object":null', '"object":'), UID, NOT_JSON],
  ['a key without quotes', GOOD.replace('"name"', 'xnamex'), UID, NOT_JSON],
  ['a uid elsewhere', JSON.stringify({ request: { name: '', uid: UID } }).slice(1), '', NOT_JSON],
  ['a byte order mark', `\uFEFF${GOOD}`, '', NOT_JSON],
  ['text after the review', `${GOOD}{}`, UID, NOT_JSON],
  ['an array', '[]', '', 'the request body is not a JSON object'],
  ['keys named __proto__', `{"__proto__":${GOOD}}`, '', `${EXPECTED}nothing of nothing`],
  ['no request', { ...reviewBody(), request: undefined }, '', 'the AdmissionReview has no request'],
  ['no uid', reviewBody({ uid: undefined }), '', 'the request has no valid uid'],
  ['a long uid', reviewBody({ uid: 'u'.repeat(65) }), '', 'the request has no valid uid'],
  ['another kind', { ...reviewBody(), kind: 'Pod' }, UID, `${EXPECTED}"Pod" of "admission.k8s.io/v1"`],
  ['v1beta1', { ...reviewBody(), apiVersion: 'v1beta1' }, UID, `${EXPECTED}"AdmissionReview" of "v1beta1"`],
  ['no oldObject', reviewBody({ oldObject: null }), UID, NO_OBJECT],
  ['no operation', reviewBody({ operation: undefined }), UID, 'the request has no operation'],
  ['no name in oldObject', withOldObject({}), UID, NO_NAME],
  ['a long name', withOldObject({ name: 'r'.repeat(254) }), UID, NO_NAME],
  ['two names', reviewBody({ name: 'x\u0007y' }), UID, `the request names "x y" but oldObject is "${NAME}"`],
])('rejects a review with %s', (_case, body, uid, message) => {
  expect(findProblem(body)).toEqual({ uid, message });
});
