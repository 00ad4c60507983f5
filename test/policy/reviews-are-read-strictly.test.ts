import { describe, expect, test } from 'vitest';
import { BadReview, parseReview } from '../../src/webhook/parse-review.ts';
import { NAME, reviewBody as review, UID } from '../support/review.ts';

const parsed = (body: string): ReturnType<typeof parseReview> => parseReview(Buffer.from(body));
const without = (field: string): string => JSON.stringify(review({ [field]: undefined }));

function problemOf(body: string): BadReview {
  try {
    parsed(body);
  } catch (error) {
    if (error instanceof BadReview) return error;
    throw error;
  }
  throw new Error('it was read');
}

describe('read', () => {
  test('the config comes from oldObject; unknown fields do not matter', () => {
    expect(parsed(JSON.stringify({ ...review({ fromTheFuture: {} }), more: 1 }))).toEqual({
      uid: UID,
      dryRun: false,
      user: 'kube:admin',
      config: { name: NAME, uid: 'c-uid', annotations: new Map([['a', 'b']]) },
    });
  });

  test.each([
    ['no name', undefined],
    ['an empty name', ''],
  ])('a collection delete has %s', (_title, name) => {
    expect(parsed(JSON.stringify(review({ name }))).config?.name).toBe(NAME);
  });

  test.each([
    ['another operation', { operation: 'UPDATE' }],
    ['another resource', { resource: { group: '', version: 'v1', resource: 'pods' } }],
    [
      'a subresource-like name',
      { resource: { group: 'machineconfiguration.openshift.io', version: 'v1', resource: 'machineconfigpools' } },
    ],
  ])('%s is no deletion of a config', (_title, change) => {
    expect(parsed(JSON.stringify(review(change))).config).toBeUndefined();
  });

  test('the same resource in another version is', () => {
    const resource = { group: 'machineconfiguration.openshift.io', version: 'v2', resource: 'machineconfigs' };
    expect(parsed(JSON.stringify(review({ resource }))).config?.name).toBe(NAME);
  });

  test('a key called __proto__ is data', () => {
    const body = JSON.stringify(review()).replace('"annotations":{', '"annotations":{"__proto__":"x",');
    expect(parsed(body).config?.annotations.get('__proto__')).toBe('x');
    expect(
      parsed(
        '{"__proto__":{"kind":"AdmissionReview"},"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"UPDATE","resource":{"group":"","resource":""}}}',
      ).uid,
    ).toBe('u');
  });
});

describe('refused', () => {
  test.each([
    ['nothing', '', 'the request has no body'],
    ['not JSON', '<html>', 'the request body is not JSON'],
    ['cut short', JSON.stringify(review()).slice(0, -20), 'the request body is not JSON'],
    ['an array', '[]', 'the request body is not a JSON object'],
    ['null', 'null', 'the request body is not a JSON object'],
    ['100 brackets', '['.repeat(100), 'the request body is not JSON'],
    ['100,000 brackets', '['.repeat(100_000), 'the request body is nested deeper than 10000 levels'],
    ['a byte order mark', `\uFEFF${JSON.stringify(review())}`, 'the request body is not JSON'],
    ['more after the end', `${JSON.stringify(review())}{}`, 'the request body is not JSON'],
    ['no request', JSON.stringify({ ...review(), request: undefined }), 'the AdmissionReview has no request'],
  ])('%s, without a uid to answer with', (_title, body, problem) => {
    expect(problemOf(body)).toMatchObject({ message: problem, uid: '' });
  });

  test.each([
    [
      'another kind',
      JSON.stringify({ ...review(), kind: 'Pod' }),
      'expected an AdmissionReview of admission.k8s.io/v1, got "Pod" of "admission.k8s.io/v1"',
    ],
    [
      'v1beta1',
      JSON.stringify({ ...review(), apiVersion: 'admission.k8s.io/v1beta1' }),
      'expected an AdmissionReview of admission.k8s.io/v1, got "AdmissionReview" of "admission.k8s.io/v1beta1"',
    ],
    ['no oldObject', without('oldObject'), 'the request has no oldObject, so it cannot be told what is deleted'],
    ['no operation', without('operation'), 'the request has no operation'],
    ['no resource', without('resource'), 'the request does not say which resource it is about'],
    ['no name in oldObject', JSON.stringify(review({ oldObject: { metadata: {} } })), 'oldObject has no name'],
    [
      'two names',
      JSON.stringify(review({ name: 'rendered-other' })),
      `the request names "rendered-other" but oldObject is "${NAME}"`,
    ],
  ])('%s, with the uid', (_title, body, problem) => {
    expect(problemOf(body)).toMatchObject({ message: problem, uid: UID });
  });

  // Which of two counts depends on who reads; the guard and the API server must not mean different objects.
  test.each([
    ['kind', '"kind":"AdmissionReview"', '"kind":"AdmissionReview"'],
    ['request', '"request":{', '"request":{},"request":{'],
    ['operation', '"operation":"DELETE"', '"operation":"CREATE","operation":"DELETE"'],
    ['oldObject', '"oldObject":{', '"oldObject":{"metadata":{"name":"rendered-x"}},"oldObject":{'],
    ['metadata', '"metadata":{', '"metadata":{"name":"rendered-x"},"metadata":{'],
    ['name', `"name":"${NAME}","uid"`, `"name":"rendered-x","name":"${NAME}","uid"`],
    ['name', `"name":"${NAME}","uid"`, `"n\\u0061me":"rendered-x","name":"${NAME}","uid"`],
    ['annotations', '"annotations":{', '"annotations":{},"annotations":{'],
    ['a', '"a":"b"', '"a":"c","a":"b"'],
  ])('%s twice', (key, once, twice) => {
    const body = JSON.stringify(review()).replace(once, () => `${twice}${once === twice ? `,${once}` : ''}`);
    expect(problemOf(body)).toMatchObject({ message: `the request body has "${key}" twice in one object`, uid: '' });
  });

  test('more names and annotations than an object can have', () => {
    const annotations = Object.fromEntries(Array.from({ length: 3 }, (_, index) => [index, 'x'.repeat(1024 * 1024)]));
    expect(problemOf(JSON.stringify(review({ oldObject: { metadata: { name: NAME, annotations } } })))).toMatchObject({
      message: 'the request body has more names and annotations than an object can have',
    });
  });

  test('no uid', () => {
    expect(problemOf(without('uid'))).toMatchObject({ message: 'the request has no uid', uid: '' });
  });
});
