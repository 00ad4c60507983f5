import request from 'supertest';
import { expect, test } from 'vitest';
import { createHealthServer } from '../../src/serving/health-server.ts';
import { createMetricsApp } from '../../src/serving/metrics-app.ts';
import { memoryLog } from '../support/log.ts';

const health = createHealthServer(() => 'nodes not listed yet');
const metrics = createMetricsApp({
  metrics: { scrape: async () => await Promise.resolve({ text: 'x 1\n', contentType: 'text/plain' }) },
  authorizer: {
    authorize: async (token) => await Promise.resolve(token === 'good' ? ('allowed' as const) : ('throttled' as const)),
  },
  log: memoryLog().log,
});
/** Those that Node and express set for every answer. */
const COMMON = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive']);

test.each([
  ['a probe that succeeds', health, 'get', '/healthz', {}, 200, { 'cache-control': 'no-store' }],
  ['a probe that fails', health, 'get', '/readyz', {}, 503, { 'cache-control': 'no-store' }],
  ['a probe with long headers', health, 'get', '/healthz', { a: 'x'.repeat(4_096) }, 431, {}],
  ['another method', health, 'post', '/healthz', {}, 405, { allow: 'GET' }],
  ['another path', health, 'get', '/healthz/', {}, 404, {}],
  ['another case', health, 'get', '/Healthz', {}, 404, {}],
  ['a scrape', metrics, 'get', '/metrics', { authorization: 'Bearer good' }, 200, {}],
  ['a scrape without a token', metrics, 'get', '/metrics', {}, 401, { 'www-authenticate': 'Bearer' }],
  ['too many tokens', metrics, 'get', '/metrics', { authorization: 'Bearer new' }, 429, { 'retry-after': '1' }],
] as const)('the answer to %s has its own headers, and none that describes the server', async (...row) => {
  const [, server, method, path, sent, status, expected] = row;
  const answer = await request(server)[method](path).set(sent);
  const own = Object.entries(answer.headers as Readonly<Record<string, string>>).filter(([name]) => !COMMON.has(name));
  expect({ status: answer.status, headers: Object.fromEntries(own) }).toEqual({ status, headers: expected });
});
