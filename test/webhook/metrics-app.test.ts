import type { Express } from 'express';
import request from 'supertest';
import { beforeEach, expect, test } from 'vitest';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiUnreachable } from '../../src/kube/errors.ts';
import { createMetricsApp } from '../../src/webhook/metrics-app.ts';
import { ScrapeAuthorizer } from '../../src/webhook/scrape-authorizer.ts';
import { memoryLog } from '../support/log.ts';

const PROMETHEUS = 'system:serviceaccount:openshift-monitoring:prometheus-k8s';

const metrics = {
  scrape: async () => await Promise.resolve({ text: 'x 1\n', contentType: 'text/plain; version=0.0.4' }),
};
let app: Express;
let users: Record<string, string>;
let isUnreachable: boolean;
let now: number;
let requests: ApiRequest[];
let lines: unknown[];

beforeEach(() => {
  users = { good: PROMETHEUS, other: 'someone', expired: PROMETHEUS };
  isUnreachable = false;
  now = 1;
  requests = [];
  const json = async (apiRequest: ApiRequest): Promise<unknown> => {
    requests.push(apiRequest);
    if (isUnreachable) throw new ApiUnreachable('api:6443 cannot be reached: ECONNREFUSED');
    const { kind, spec } = apiRequest.body as { kind: string; spec: { token?: string; user?: string } };
    if (kind !== 'TokenReview')
      return await Promise.resolve({ status: { allowed: spec.user === PROMETHEUS } });
    const username = users[spec.token ?? ''];
    const authenticated = username !== undefined && spec.token !== 'expired';
    return await Promise.resolve({ status: { authenticated, user: { username, groups: ['g'] } } });
  };
  const memory = memoryLog();
  lines = memory.lines;
  const authorizer = new ScrapeAuthorizer({ json }, () => now);
  app = createMetricsApp({ metrics, authorizer, log: memory.log });
});

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const scrape = async (token: string) => await request(app).get('/metrics').set(bearer(token));

const scrapeBoth = async () => [(await scrape('good')).status, (await scrape('bad')).status];

test('answers a token whose owner may get /metrics', async () => {
  const { status, text, headers } = await scrape('good');
  expect({ status, text }).toEqual({ status: 200, text: 'x 1\n' });
  expect(headers['content-type']).toContain('version=0.0.4');
  expect(requests.map(({ path }) => path)).toEqual([
    '/apis/authentication.k8s.io/v1/tokenreviews',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  ]);
  expect(requests[1]?.body).toMatchObject({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: PROMETHEUS, groups: ['g'], nonResourceAttributes: { path: '/metrics', verb: 'get' } },
  });
});

test.each([
  [401, 'no token', {}],
  [401, 'an unknown token', bearer('bad')],
  [401, 'an expired token', bearer('expired')],
  [401, 'a malformed token', bearer('a b\tc')],
  [403, 'an owner without the right', bearer('other')],
] as const)('answers %d to %s', async (status, _case, headers) => {
  const response = await request(app).get('/metrics').set(headers);
  expect(response.status).toBe(status);
  expect(response.text).not.toContain('x 1');
});

test('answers 503 if the API server is unreachable, and does not log the token', async () => {
  isUnreachable = true;
  expect((await scrape('good')).status).toBe(503);
  expect(lines).toMatchObject([{ reason: 'api:6443 cannot be reached: ECONNREFUSED' }]);
  expect(JSON.stringify(lines)).not.toContain('good');
});

test('caches an allowed access for a minute, and a denied one for five seconds', async () => {
  await scrapeBoth();
  expect(await scrapeBoth()).toEqual([200, 401]);
  expect(requests).toHaveLength(3);
  users = { bad: PROMETHEUS };
  now += 5_001;
  expect(await scrapeBoth()).toEqual([200, 200]);
  now += 55_001;
  expect(await scrapeBoth()).toEqual([401, 200]);
});

test('caches at most 256 tokens', async () => {
  for (let token = 0; token < 257; token += 1) await scrape(`t${token}`);
  await scrape('t256');
  expect(requests).toHaveLength(257);
  await scrape('t0');
  expect(requests).toHaveLength(258);
});
