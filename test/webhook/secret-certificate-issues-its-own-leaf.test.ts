import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/api.ts';
import { followAuthoritySecret } from '../../src/certificates/authority-secret.ts';
import type { ServingCertificate } from '../../src/certificates/serving-certificate.ts';
import { memoryLog } from '../support/log.ts';

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 10, 20);

let first: Authority;
let second: Authority;

beforeAll(async () => {
  const now = new Date(START);
  [first, second] = await Promise.all([createAuthority({ days: 365, now }), createAuthority({ days: 365, now })]);
});

type Answer = Authority | Error | { 'ca.crt'?: string; 'ca.key'?: string };

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A Secret that a test changes, and a clock that it moves. */
function world(answer: Answer) {
  const { log, lines } = memoryLog();
  const it = { answer, now: START, paths: [] as string[] };
  const stop = new AbortController();
  onTestFinished(() => {
    stop.abort();
  });
  const starting = followAuthoritySecret({
    namespace: 'guard-ns',
    name: 'machineconfig-guard-ca',
    log,
    signal: stop.signal,
    now: () => new Date(it.now),
    pollMs: 10,
    api: {
      json: async ({ path }) => {
        it.paths.push(path);
        if (it.answer instanceof Error) throw it.answer;
        const data =
          'certificatePem' in it.answer
            ? { 'ca.crt': base64(it.answer.certificatePem), 'ca.key': base64(it.answer.privateKeyPem) }
            : it.answer;
        return await Promise.resolve({ data });
      },
    },
  });
  return { it, lines, starting, stop };
}

const leafOf = (certificate: ServingCertificate): X509Certificate => new X509Certificate(certificate.current().cert);

const warnings = (lines: readonly Record<string, unknown>[]): unknown[] =>
  lines.filter(({ level }) => level === 40).map(({ reason }) => reason);

test('a leaf of seven days for the Service in the Secret’s namespace, signed by its authority', async () => {
  const { it, starting, lines } = world(first);
  const leaf = leafOf(await starting);
  expect(it.paths[0]).toBe('/api/v1/namespaces/guard-ns/secrets/machineconfig-guard-ca');
  expect(leaf.subjectAltName).toBe(
    'DNS:machineconfig-guard.guard-ns.svc, DNS:machineconfig-guard.guard-ns.svc.cluster.local',
  );
  expect(leaf.verify(new X509Certificate(first.certificatePem).publicKey)).toBe(true);
  expect(new Date(leaf.validTo).getTime() - START).toBe(7 * DAY_MS);
  expect(JSON.stringify(lines)).not.toContain('PRIVATE KEY');
});

test('it stays until two thirds of its life, and is then renewed with a word on why', async () => {
  const { it, starting, lines } = world(first);
  const certificate = await starting;
  let changes = 0;
  certificate.onChange(() => {
    changes += 1;
  });
  const before = leafOf(certificate).fingerprint256;
  it.now = START + 4 * DAY_MS;
  const seen = it.paths.length;
  await expect.poll(() => it.paths.length).toBeGreaterThan(seen + 3);
  expect(leafOf(certificate).fingerprint256).toBe(before);
  it.now = START + 5 * DAY_MS;
  await expect.poll(() => leafOf(certificate).fingerprint256).not.toBe(before);
  expect(changes).toBe(1);
  expect(new Date(leafOf(certificate).validTo).getTime()).toBe(it.now + 7 * DAY_MS);
  expect(lines.at(-1)?.['msg']).toMatch(/^serving certificate issued: two thirds of its life passed at /);
});

test('an exchanged authority is taken over', async () => {
  const { it, starting } = world(first);
  const certificate = await starting;
  it.answer = second;
  const newKey = new X509Certificate(second.certificatePem).publicKey;
  await expect.poll(() => leafOf(certificate).verify(newKey)).toBe(true);
});

describe('what cannot be used keeps the last leaf, is said once, and heals', () => {
  test.each<[string, () => Answer, string]>([
    ['gone', () => new ApiError(404, 'NotFound', 'x'), 'the API server answered 404 NotFound'],
    ['not allowed', () => new ApiError(403, 'Forbidden', 'x'), 'the API server answered 403 Forbidden'],
    [
      'out of reach',
      () => new ApiUnreachable('api cannot be reached: ECONNREFUSED'),
      'api cannot be reached: ECONNREFUSED',
    ],
    ['without a key', () => ({ 'ca.crt': base64(first.certificatePem) }), 'it has no ca.key'],
    ['garbage', () => ({ 'ca.crt': 'eA==', 'ca.key': 'eA==' }), 'the certificate cannot be read as PEM'],
    [
      'of two halves',
      () => ({ 'ca.crt': base64(first.certificatePem), 'ca.key': base64(second.privateKeyPem) }),
      'the private key belongs to another certificate',
    ],
  ])('%s', async (_title, answer, reason) => {
    const { it, starting, lines } = world(first);
    const certificate = await starting;
    const before = leafOf(certificate).fingerprint256;
    it.answer = answer();
    await expect.poll(() => warnings(lines)).toEqual([reason]);
    const seen = it.paths.length;
    await expect.poll(() => it.paths.length).toBeGreaterThan(seen + 3);
    expect(warnings(lines)).toEqual([reason]);
    expect(leafOf(certificate).fingerprint256).toBe(before);
    it.answer = first;
    await expect.poll(() => lines.at(-1)?.['msg']).toBe('secret guard-ns/machineconfig-guard-ca can be used again');
    expect(leafOf(certificate).fingerprint256).toBe(before);
  });

  test('a leaf is renewed from memory while the Secret is away', async () => {
    const { it, starting } = world(first);
    const certificate = await starting;
    const before = leafOf(certificate).fingerprint256;
    it.answer = new ApiUnreachable('away');
    it.now = START + 6 * DAY_MS;
    await expect.poll(() => leafOf(certificate).fingerprint256).not.toBe(before);
  });
});

test('at start it waits for a Secret that can be used', async () => {
  const expired = await createAuthority({ days: 1, now: new Date(START - 10 * DAY_MS) });
  const { it, starting, lines } = world(new ApiError(404, 'NotFound', 'x'));
  await expect.poll(() => warnings(lines)).toHaveLength(1);
  it.answer = expired;
  await expect.poll(() => warnings(lines).at(-1)).toMatch(/^the authority expired at /);
  it.answer = first;
  expect(leafOf(await starting).ca).toBe(false);
});

test('at start it can be stopped', async () => {
  const { starting, stop } = world(new ApiError(404, 'NotFound', 'x'));
  stop.abort();
  await expect(starting).rejects.toThrow(/abort/i);
});
