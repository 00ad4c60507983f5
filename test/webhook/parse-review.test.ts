import { expect, test } from 'vitest';
import { BadReview, parseReview } from '../../src/webhook/parse-review.ts';
import { NAME, reviewBody, UID } from '../support/review.ts';

const GROUP = 'machineconfiguration.openshift.io';

function parse(body: unknown) {
  if (Buffer.isBuffer(body)) return parseReview(body);
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
    config: { name: NAME, uid: 'c-uid', annotations: new Map([['a', 'b']]) },
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

test('accepts keys named __proto__ as data', () => {
  const body = JSON.stringify(reviewBody()).replace('"annotations":{', '"annotations":{"__proto__":"x",');
  expect(parse(body).config?.annotations.get('__proto__')).toBe('x');
  const { message } = findProblem(`{"__proto__":${JSON.stringify(reviewBody())}}`);
  expect(message).toContain('got nothing of nothing');
});

const NOT_JSON = 'is not JSON';

test.each([
  ['an empty body', '', '', 'has no body'],
  ['a truncated body', JSON.stringify(reviewBody()).slice(0, -20), '', NOT_JSON],
  ['100,000 brackets', '['.repeat(100_000), '', 'is nested deeper than 10000 levels'],
  ['a byte order mark', `\uFEFF${JSON.stringify(reviewBody())}`, '', NOT_JSON],
  ['text after the review', `${JSON.stringify(reviewBody())}{}`, '', NOT_JSON],
  ['invalid UTF-8', Buffer.from('{"kind":"\xff"}', 'latin1'), '', 'is not UTF-8'],
  ['an array', '[]', '', 'is not a JSON object'],
  ['no request', { ...reviewBody(), request: undefined }, '', 'has no request'],
  ['no uid', reviewBody({ uid: undefined }), '', 'has no uid'],
  ['another kind', { ...reviewBody(), kind: 'Pod' }, UID, 'got "Pod" of "admission.k8s.io/v1"'],
  ['v1beta1', { ...reviewBody(), apiVersion: 'v1beta1' }, UID, '"AdmissionReview" of "v1beta1"'],
  ['no oldObject', reviewBody({ oldObject: null }), UID, 'has no oldObject'],
  ['no operation', reviewBody({ operation: undefined }), UID, 'has no operation'],
  ['no resource', reviewBody({ resource: undefined }), UID, 'names no resource'],
  ['no name in oldObject', reviewBody({ oldObject: { metadata: {} } }), UID, 'oldObject has no name'],
  [
    'two names',
    reviewBody({ name: 'rendered-\u0007other' }),
    UID,
    `the request names "rendered- other" but oldObject is "${NAME}"`,
  ],
  [
    'more annotations than an object can have',
    reviewBody({
      oldObject: { metadata: { name: NAME, annotations: { a: 'x'.repeat(3 * 1024 * 1024) } } },
    }),
    '',
    'has more names and annotations than an object can have',
  ],
])('rejects %s', (_case, body, uid, problem) => {
  const { message, uid: answeredUid } = findProblem(body);
  expect(message).toContain(problem);
  expect(answeredUid).toBe(uid);
});

test.each([
  ['kind', '"kind":"AdmissionReview"', '"kind":"AdmissionReview",'],
  ['request', '"request":{', '"request":{},'],
  ['operation', '"operation":"DELETE"', '"operation":"CREATE",'],
  ['oldObject', '"oldObject":{', '"oldObject":{"metadata":{"name":"rendered-x"}},'],
  ['metadata', '"metadata":{', '"metadata":{"name":"rendered-x"},'],
  ['name', `"name":"${NAME}","uid"`, '"name":"rendered-x",'],
  ['name', `"name":"${NAME}","uid"`, '"n\\u0061me":"rendered-x",'],
  ['annotations', '"annotations":{', '"annotations":{},'],
  ['a', '"a":"b"', '"a":"c",'],
])('rejects a second %s', (key, member, inserted) => {
  const body = JSON.stringify(reviewBody()).replace(member, `${inserted}${member}`);
  const message = `the request body has "${key}" twice in one object`;
  expect(findProblem(body)).toMatchObject({ message, uid: '' });
});
