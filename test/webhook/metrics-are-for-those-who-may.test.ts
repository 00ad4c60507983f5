import request from 'supertest';
import { describe, expect, test } from 'vitest';
import { ApiUnreachable } from '../../src/kube/errors.ts';
import { type ApiRequest } from '../../src/kube/api.ts';
import { createMetricsApp } from '../../src/webhook/metrics-app.ts';
import { ScrapeAuthorizer } from '../../src/webhook/scrape-authorizer.ts';
import { memoryLog } from '../support/log.ts';

const PROMETHEUS = 'system:serviceaccount:openshift-monitoring:prometheus-k8s';

/** The API server's side: who a token is, and who may get /metrics. */
function cluster({ down = false } = {}) {
  const asked: ApiRequest[] = [];
  const clock = { now: 0 };
  const users: Record<string, string> = { good: PROMETHEUS, other: 'somebody' };
  const api = {
    json: async (one: ApiRequest) => {
      asked.push(one);
      if (down) throw new ApiUnreachable('api:6443 cannot be reached: ECONNREFUSED');
      const { kind, spec } = one.body as { kind: string; spec: { token?: string; user?: string } };
      if (kind === 'TokenReview') {
        const username = users[spec.token ?? ''];
        return await Promise.resolve({
          status: { authenticated: username !== undefined, user: { username, groups: ['g'] } },
        });
      }
      return await Promise.resolve({ status: { allowed: spec.user === PROMETHEUS } });
    },
  };
  const { log, lines } = memoryLog();
  const access = new ScrapeAuthorizer({ api, now: () => clock.now });
  const metrics = {
    scrape: async () => await Promise.resolve({ text: 'x 1\n', contentType: 'text/plain; version=0.0.4' }),
  };
  return { app: createMetricsApp({ metrics, access, log }), asked, clock, lines, users };
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

test('a service account that may get /metrics', async () => {
  const { app, asked } = cluster();
  const response = await request(app).get('/metrics').set(bearer('good'));
  expect(response.status).toBe(200);
  expect(response.text).toBe('x 1\n');
  expect(response.headers['content-type']).toContain('version=0.0.4');
  expect(asked[1]?.body).toMatchObject({
    kind: 'SubjectAccessReview',
    spec: { user: PROMETHEUS, groups: ['g'], nonResourceAttributes: { path: '/metrics', verb: 'get' } },
  });
});

describe('everybody else', () => {
  test.each([
    ['no header', {}, 401],
    ['another scheme', { authorization: 'Basic Z29vZDo=' }, 401],
    ['an unknown token', bearer('bad'), 401],
    ['what cannot be a token', bearer('a b\tc'), 401],
    ['a known user without the right', bearer('other'), 403],
  ])('%s', async (_title, headers, status) => {
    const { app } = cluster();
    const response = await request(app).get('/metrics').set(headers);
    expect(response.status).toBe(status);
    expect(response.text).not.toContain('x 1');
  });

  test('an API server that cannot say: 503, and the token is not in the log', async () => {
    const { app, lines } = cluster({ down: true });
    expect((await request(app).get('/metrics').set(bearer('good'))).status).toBe(503);
    expect(lines).toMatchObject([{ reason: 'api:6443 cannot be reached: ECONNREFUSED' }]);
    expect(JSON.stringify(lines)).not.toContain('good');
  });

  test.each([
    ['post', '/metrics', 405],
    ['get', '/', 404],
    ['get', '/metrics/', 404],
  ] as const)('%s %s: %d', async (method, path, status) => {
    expect((await request(cluster().app)[method](path).set(bearer('good'))).status).toBe(status);
  });
});

test('an answer is remembered: a minute where it was yes, five seconds where it was no', async () => {
  const { app, asked, clock, users } = cluster();
  const scrape = async (token: string): Promise<number> =>
    (await request(app).get('/metrics').set(bearer(token))).status;
  expect([await scrape('good'), await scrape('good'), await scrape('bad'), await scrape('bad')]).toEqual([
    200, 200, 401, 401,
  ]);
  expect(asked).toHaveLength(3);
  users['bad'] = PROMETHEUS;
  delete users['good'];
  clock.now = 5_001;
  expect([await scrape('good'), await scrape('bad')]).toEqual([200, 200]);
  clock.now = 60_001;
  expect(await scrape('good')).toBe(401);
});

test('a flood of wrong tokens is not remembered without end', async () => {
  const { app, asked } = cluster();
  for (let token = 0; token < 300; token += 1)
    await request(app)
      .get('/metrics')
      .set(bearer(`t${token}`));
  await request(app).get('/metrics').set(bearer('t0'));
  await request(app).get('/metrics').set(bearer('t299'));
  expect(asked).toHaveLength(301);
});
