import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { BadReview, findUid, parseReview } from '../../src/webhook/parse-review.ts';
import { NAME, parseAtOnce, reviewBody, UID } from '../support/review.ts';

const GROUP = 'machineconfiguration.openshift.io';

function parse(body: unknown) {
  if (Buffer.isBuffer(body)) return parseAtOnce(body);
  return parseAtOnce(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
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
    config: { name: NAME, uid: 'c-uid' },
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
    allowDeletion: kept,
  });
});

test('counts the bytes of annotations without quotes and escapes', () => {
  const key = 'a'.repeat(100);
  const value = '"'.repeat(256 * 1024 - key.length);
  expect(parse(withAnnotations({ [key]: value })).config?.name).toBe(NAME);
  const tooMany = withAnnotations({ [key]: `${value}"` });
  expect(findProblem(tooMany)).toMatchObject({
    message: 'the request body has more annotations than an object can have',
    uid: UID,
  });
});

test('rejects too many annotations before it has seen the rest', () => {
  const body = JSON.stringify(withAnnotations({ a: 'x'.repeat(300_000) })).replace('"spec"', 'not JSON');
  expect(findProblem(body).message).toContain('more annotations');
});

test('yields often while it reads a large body', () => {
  const slices = (size: number) => {
    const padding = Array.from({ length: size }, () => 'a');
    const work = parseReview(Buffer.from(JSON.stringify(reviewBody({ padding }))));
    let count = 0;
    while (work.next().done !== true) count += 1;
    return count;
  };
  expect(slices(1_000)).toBe(0);
  expect(slices(1_000_000)).toBeGreaterThanOrEqual(60);
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
  ['100,000 brackets', '['.repeat(100_000), '', 'is nested deeper than 10000 levels'],
  ['a byte order mark', `\uFEFF${JSON.stringify(reviewBody())}`, '', NOT_JSON],
  ['text after the review', `${JSON.stringify(reviewBody())}{}`, UID, NOT_JSON],
  ['invalid UTF-8', Buffer.from('{"kind":"\xff"}', 'latin1'), '', 'is not UTF-8'],
  ['an array', '[]', '', 'is not a JSON object'],
  ['no request', { ...reviewBody(), request: undefined }, '', 'has no request'],
  ['no uid', reviewBody({ uid: undefined }), '', 'has no valid uid'],
  ['a long uid', reviewBody({ uid: 'u'.repeat(65) }), '', 'has no valid uid'],
  [
    'a key with escapes',
    JSON.stringify(reviewBody()).replace('"uid"', '"u\\u0069d"'),
    '',
    'has a key with escapes',
  ],
  ['a mebibyte of spaces', `${' '.repeat(2 ** 20 + 1)}{}`, '', 'has too much space'],
  ['another kind', { ...reviewBody(), kind: 'Pod' }, UID, 'got "Pod" of "admission.k8s.io/v1"'],
  ['v1beta1', { ...reviewBody(), apiVersion: 'v1beta1' }, UID, '"AdmissionReview" of "v1beta1"'],
  ['no oldObject', reviewBody({ oldObject: null }), UID, 'has no oldObject'],
  ['no operation', reviewBody({ operation: undefined }), UID, 'has no operation'],
  ['no resource', reviewBody({ resource: undefined }), UID, 'names no resource'],
  [
    'no name in oldObject',
    reviewBody({ oldObject: { metadata: {} } }),
    UID,
    'oldObject has no valid name',
  ],
  [
    'a long name',
    reviewBody({ name: undefined, oldObject: { metadata: { name: 'r'.repeat(254) } } }),
    UID,
    'oldObject has no valid name',
  ],
  ['a very long number', `{"kind":${'1'.repeat(2_000)}}`, '', NOT_JSON],
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

test.each([
  ['kind', '"kind":"AdmissionReview"', '"kind":"AdmissionReview",'],
  ['request', '"request":{', '"request":{},'],
  ['operation', '"operation":"DELETE"', '"operation":"CREATE",'],
  ['oldObject', '"oldObject":{', '"oldObject":{"metadata":{"name":"rendered-x"}},'],
  ['metadata', '"metadata":{', '"metadata":{"name":"rendered-x"},'],
  ['name', `"name":"${NAME}","uid"`, '"name":"rendered-x",'],
  ['annotations', '"annotations":{', '"annotations":{},'],
])('rejects a second %s', (key, member, inserted) => {
  const body = JSON.stringify(reviewBody()).replace(member, `${inserted}${member}`);
  const message = `the request body has "${key}" twice in one object`;
  expect(findProblem(body)).toMatchObject({ message });
});
