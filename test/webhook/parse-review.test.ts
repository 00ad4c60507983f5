import { expect, test, vi } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { BadReview, findUid, parseReview } from '../../src/webhook/parse-review.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { NAME, reviewBody, UID } from '../support/review.ts';

const GROUP = 'machineconfiguration.openshift.io';

function parse(body: unknown) {
  return parseReview(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}

function findProblem(body: unknown) {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof BadReview) return error;
    throw error;
  }
  throw new Error('the review was accepted');
}

test('accepts a review with unknown fields, and takes the config from oldObject', () => {
  expect(parse({ ...reviewBody({ newField: {} }), newField: 1 })).toEqual({
    uid: UID,
    isDryRun: false,
    user: 'kube:admin',
    config: { name: NAME, uid: 'c-uid', createdAt: undefined },
  });
});

test.each([
  ['no name, as in a DELETECOLLECTION', { name: undefined }],
  ['an empty name', { name: '' }],
  ['another version', { resource: { group: GROUP, version: 'v2', resource: 'machineconfigs' } }],
])('accepts the deletion of a config with %s', (_case, change) => {
  expect(parse(reviewBody(change)).config?.name).toBe(NAME);
});

test.each([
  ['another operation', { operation: 'UPDATE' }],
  ['another group', { resource: { group: '', version: 'v1', resource: 'machineconfigs' } }],
  ['another resource', { resource: { group: GROUP, version: 'v1', resource: 'machineconfigpools' } }],
])('accepts a review of %s, without a config', (_case, change) => {
  expect(parse(reviewBody(change)).config).toBeUndefined();
});

function withAnnotations(annotations: Record<string, string>) {
  return reviewBody({ oldObject: { metadata: { name: NAME, uid: 'c-uid', annotations } } });
}

test.each([
  ['a reason', 'CHG-7', 'CHG-7'],
  ['an empty reason', '', ''],
  ['a long reason of one byte each', 'x'.repeat(9_999), 'x'.repeat(256)],
  ['a long reason of three bytes each', '\u20ac'.repeat(9_999), '\u20ac'.repeat(256)],
  ['a long reason of escapes', '\n'.repeat(9_999), '\n'.repeat(256)],
])('keeps the first 256 characters of %s', (_case, reason, kept) => {
  expect(parse(withAnnotations({ a: 'b', [ALLOW_DELETION_ANNOTATION]: reason })).config).toEqual({
    name: NAME,
    uid: 'c-uid',
    createdAt: undefined,
    allowDeletion: kept,
  });
});

test.each([
  ['a million brackets', '['.repeat(1_000_000), ''],
  ['a million empty arrays', `[${'[],'.repeat(1_000_000)}0]`, UID],
  ['a million empty objects', `[${'{},'.repeat(1_000_000)}0]`, UID],
  ['a million empty strings', '""'.repeat(1_000_000), ''],
])('rejects %s before it parses them', (_case, values, uid) => {
  const parse = vi.spyOn(JSON, 'parse');
  const review = JSON.stringify(reviewBody()).replace('"object":null', () => `"object":${values}`);
  const problem = findProblem(uid === '' ? values : review);
  expect(problem).toMatchObject({ message: 'the request body has too many values', uid });
  expect(parse).not.toHaveBeenCalled();
});

test('accepts a config with 5,000 files, and strings that consist of brackets, commas and quotes', () => {
  const file = {
    path: '/etc/x',
    mode: 420,
    overwrite: true,
    contents: { source: 'data:,', compression: '' },
  };
  const files = Array.from({ length: 5_000 }, () => file);
  const text = '[{",}]\\'.repeat(100_000);
  expect(parse(reviewBody({ files, text, last: '\\' })).config?.name).toBe(NAME);
});

test('keeps no more of a body than the review needs', () => {
  const large = 'x'.repeat(2 ** 20);
  const metadata = {
    name: NAME,
    uid: 'c-uid',
    annotations: { [ALLOW_DELETION_ANNOTATION]: large },
    ownerReferences: [{ kind: 'MachineConfigPool', name: large }],
  };
  const body = Buffer.from(JSON.stringify(reviewBody({ oldObject: { metadata }, userInfo: { username: large } })));
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const reviews = Array.from({ length: 50 }, () => parseReview(body));
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5 * 2 ** 20);
  expect(reviews).toHaveLength(50);
});

test('ignores keys named __proto__', () => {
  const { message } = findProblem(`{"__proto__":${JSON.stringify(reviewBody())}}`);
  expect(message).toContain('got nothing of nothing');
});

test.each([
  ['a whole review', JSON.stringify(reviewBody()), UID],
  ['a truncated review', JSON.stringify(reviewBody()).slice(0, 200), UID],
  ['a uid that is not complete', JSON.stringify(reviewBody()).slice(0, 90), ''],
  ['a uid elsewhere', JSON.stringify({ request: { name: '', uid: UID } }), ''],
  ['no text', '', ''],
])('finds the uid at the start of %s', (_case, text, uid) => {
  expect(findUid(Buffer.from(text))).toBe(uid);
});

const NOT_JSON = 'is not JSON';

test.each([
  ['an empty body', '', '', 'has no body'],
  ['a truncated body', JSON.stringify(reviewBody()).slice(0, -20), UID, NOT_JSON],
  ['a byte order mark', `\uFEFF${JSON.stringify(reviewBody())}`, '', NOT_JSON],
  ['text after the review', `${JSON.stringify(reviewBody())}{}`, UID, NOT_JSON],
  ['an array', '[]', '', 'is not a JSON object'],
  ['no request', { ...reviewBody(), request: undefined }, '', 'has no request'],
  ['no uid', reviewBody({ uid: undefined }), '', 'has no valid uid'],
  ['a long uid', reviewBody({ uid: 'u'.repeat(65) }), '', 'has no valid uid'],
  ['another kind', { ...reviewBody(), kind: 'Pod' }, UID, 'got "Pod" of "admission.k8s.io/v1"'],
  ['v1beta1', { ...reviewBody(), apiVersion: 'v1beta1' }, UID, '"AdmissionReview" of "v1beta1"'],
  ['no oldObject', reviewBody({ oldObject: null }), UID, 'has no oldObject'],
  ['no operation', reviewBody({ operation: undefined }), UID, 'has no operation'],
  ['no resource', reviewBody({ resource: undefined }), UID, 'names no resource'],
  ['no name in oldObject', reviewBody({ oldObject: { metadata: {} } }), UID, 'oldObject has no valid name'],
  [
    'a long name',
    reviewBody({ name: undefined, oldObject: { metadata: { name: 'r'.repeat(254) } } }),
    UID,
    'oldObject has no valid name',
  ],
  [
    'two names',
    reviewBody({ name: 'rendered-\u0007other' }),
    UID,
    `the request names "rendered- other" but oldObject is "${NAME}"`,
  ],
])('rejects %s', (_case, body, uid, problem) => {
  const { message, uid: answeredUid } = findProblem(body);
  expect(message).toContain(problem);
  expect(answeredUid).toBe(uid);
});

test.each(['rendered-x/status', 'rendered-%zz', 'Rendered-x', 'rendered-x-'])(
  'rejects the name %s, which no object can have',
  (name) => {
    const problem = findProblem(reviewBody({ name: undefined, oldObject: { metadata: { name } } }));
    expect(problem).toMatchObject({ message: 'oldObject has no valid name', uid: UID });
  },
);

test('takes the last of two fields, as the API server would', () => {
  const body = JSON.stringify(reviewBody()).replace('"name":', '"name":"rendered-x","name":');
  expect(parse(body).config?.name).toBe(NAME);
});
