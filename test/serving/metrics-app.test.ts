import { Agent } from 'node:http';
import type { Express } from 'express';
import request from 'supertest';
import { beforeEach, expect, test, vi } from 'vitest';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiUnreachable } from '../../src/kube/errors.ts';
import { createMetricsApp } from '../../src/serving/metrics-app.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { ScrapeAuthorizer } from '../../src/serving/scrape-authorizer.ts';

const PROMETHEUS = 'system:serviceaccount:openshift-monitoring:prometheus-k8s';

/** With every kind of character that a token can have. Those of OpenShift's OAuth server begin with `sha256~`. */
const GOOD = 'sha256~aZ0._+/-==';

/** What an authorizer can know of a user besides the name. */
const IDENTITY = { uid: 'u', groups: ['g'], extra: { 'authentication.kubernetes.io/pod-name': ['p'] } };

const metrics = {
  scrape: async () => await Promise.resolve({ text: 'x 1\n', contentType: 'text/plain; version=0.0.4' }),
};
let app: Express;
let authorizer: ScrapeAuthorizer;
let users: Record<string, string>;
let isUnreachable: boolean;
let requests: ApiRequest[];
let lines: unknown[];

beforeEach(() => {
  users = { [GOOD]: PROMETHEUS, other: 'someone', expired: PROMETHEUS };
  isUnreachable = false;
  fakeUntilEnd('performance');
  // In lru-cache, an entry of the time 0 does not expire.
  vi.advanceTimersByTime(1);
  requests = [];
  const json = async (apiRequest: ApiRequest): Promise<unknown> => {
    requests.push(apiRequest);
    await Promise.resolve();
    if (isUnreachable) throw new ApiUnreachable('api:6443 cannot be reached: ECONNREFUSED');
    const { kind, spec } = apiRequest.body as { kind: string; spec: { token?: string; user?: string } };
    if (kind !== 'TokenReview') return { status: { allowed: spec.user === PROMETHEUS } };
    const username = users[spec.token ?? ''];
    const authenticated = username !== undefined && spec.token !== 'expired';
    return { status: { authenticated, user: { username, ...IDENTITY } } };
  };
  const memory = memoryLog();
  lines = memory.lines;
  authorizer = new ScrapeAuthorizer({ json });
  app = createMetricsApp({ metrics, authorizer, log: memory.log });
});

const bearer = (token: string): Record<string, string> => ({ authorization: `bearer ${token}` });
const scrape = async (token: string) => await request(app).get('/metrics').set(bearer(token));

const scrapeAll = async (tokens: readonly string[]) =>
  (await Promise.all(tokens.map(scrape))).map(({ status }) => status);

const countTokenReviews = () => requests.filter(({ path }) => path.endsWith('/tokenreviews')).length;
const unknownTokens = (count: number) => Array.from({ length: count }, (_, index) => `unknown${index}`);

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

test('answers 413 to a request with a body, without asking the API server, and closes the connection', async () => {
  const { status, headers } = await request(app).get('/metrics').set(bearer(GOOD)).send('x=1');
  expect({ status, connection: headers['connection'] }).toEqual({ status: 413, connection: 'close' });
  expect(requests).toEqual([]);
});

test('answers 503 if the API server is unreachable, does not log the token, and reviews it again', async () => {
  isUnreachable = true;
  expect(await scrapeAll([GOOD, GOOD])).toEqual([503, 503]);
  expect(lines).toMatchObject([{ reason: 'api:6443 cannot be reached: ECONNREFUSED' }]);
  expect(JSON.stringify(lines)).not.toContain(GOOD);
  isUnreachable = false;
  const { status, text, headers } = await scrape(GOOD);
  expect({ status, text }).toEqual({ status: 200, text: 'x 1\n' });
  expect(headers['content-type']).toContain('version=0.0.4');
  const nonResourceAttributes = { path: '/metrics', verb: 'get' };
  const spec = { user: PROMETHEUS, ...IDENTITY, nonResourceAttributes };
  expect(requests.at(-1)).toMatchObject({ method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews' });
  expect(requests.at(-1)?.body).toEqual({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec });
});

test('asks again about a denied token, and about an allowed one after a minute', async () => {
  const scrapeBoth = async () => [(await scrape(GOOD)).status, (await scrape('bad')).status];
  expect(await scrapeBoth()).toEqual([200, 401]);
  users = { bad: PROMETHEUS };
  expect(await scrapeBoth()).toEqual([200, 200]);
  vi.advanceTimersByTime(60_001);
  expect(await scrapeBoth()).toEqual([401, 200]);
});

test('reviews 10 of 100 unknown tokens and then one per second, and answers 429 to the others', async () => {
  const statuses = await scrapeAll(unknownTokens(100));
  expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(90);
  expect(countTokenReviews()).toBe(10);
  // Reviews that hang leave the other connections to the guard's own requests.
  expect(new Set(requests.map(({ purpose }) => purpose?.name))).toEqual(new Set(['token reviews']));
  // Neither known tokens nor other addresses have to wait.
  expect(await authorizer.authorize(GOOD, '10.0.0.1')).toBe('allowed');
  expect((await scrape(GOOD)).status).toBe(200);
  const agent = new Agent({ localAddress: '127.0.0.2' });
  expect((await request(app).get('/metrics').agent(agent).set(bearer('new'))).status).toBe(401);
  vi.advanceTimersByTime(3_000);
  await scrapeAll(unknownTokens(100).toReversed());
  expect(countTokenReviews()).toBe(15);
});

test('answers 200 to a known token beside many unknown ones, also after its review has failed', async () => {
  expect(await scrapeAll([GOOD])).toEqual([200]);
  vi.advanceTimersByTime(60_001);
  isUnreachable = true;
  expect(await scrapeAll([GOOD])).toEqual([503]);
  isUnreachable = false;
  await scrapeAll(unknownTokens(10));
  expect(await scrapeAll([GOOD, 'bad'])).toEqual([200, 429]);
});
