import { expect, onTestFinished, test } from 'vitest';
import { TlsProfileFollower } from '../../src/guard/tls-profile-follower.ts';
import type { Interceptor } from '../support/faults.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster } from '../support/test-cluster.ts';

const RESOURCE = 'apiservers';
const MODERN = { type: 'Modern', modern: {} };

/** Follows the profile of a new cluster, with an APIServer if there is a profile. */
async function follow(tlsSecurityProfile?: object, fault: Interceptor = () => 'pass') {
  const cluster = await startTestCluster();
  const create = (profile: object): void =>
    void cluster.create(RESOURCE, {
      metadata: { name: 'cluster' },
      spec: { tlsSecurityProfile: profile },
    });
  if (tlsSecurityProfile !== undefined) create(tlsSecurityProfile);
  cluster.faults.intercept(fault);
  const { log, messages } = memoryLog();
  const follower = new TlsProfileFollower({ api: cluster.connect(), log, intervalMs: 10 });
  const changes: string[] = [];
  follower.onChange(() => changes.push(follower.current().type));
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const setProfile = (profile: object | null): void =>
    void cluster.patch(RESOURCE, 'cluster', { spec: { tlsSecurityProfile: profile } });
  return { cluster, follower, changes, messages, create, setProfile };
}

test('applies each change once, and Intermediate when the profile or the object is removed', async () => {
  const { cluster, changes, messages, create, setProfile } = await follow({ type: 'Old' });
  await expect.poll(() => changes).toEqual(['Old']);
  setProfile(MODERN);
  await expect.poll(() => changes).toEqual(['Old', 'Modern']);
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  setProfile(null);
  await expect.poll(() => changes).toEqual(['Old', 'Modern', 'Intermediate']);
  cluster.erase(RESOURCE, 'cluster');
  create(MODERN);
  await expect.poll(() => changes).toEqual(['Old', 'Modern', 'Intermediate', 'Modern']);
  const logged = ['Old', 'Modern', 'Intermediate', 'Modern'].map((type) => `TLS profile is ${type}`);
  expect(messages()).toEqual(logged);
});

test('uses Intermediate without a message while the cluster does not serve the kind', async () => {
  const { cluster, follower, changes, messages, create } = await follow(undefined, () => 'pass');
  cluster.serve(RESOURCE, []);
  await expect.poll(() => follower.followed().problem).toBeUndefined();
  expect([follower.current().type, changes, messages()]).toEqual(['Intermediate', [], []]);
  cluster.serve(RESOURCE, ['v1']);
  create(MODERN);
  await expect.poll(() => changes).toEqual(['Modern']);
});

test('uses Intermediate without the right to read it, and says so', async () => {
  const fault: Interceptor = ({ path }) => (path.endsWith(`${RESOURCE}/cluster`) ? { status: 403 } : 'pass');
  const { cluster, follower, messages } = await follow(MODERN, fault);
  await expect.poll(() => follower.followed().problem?.reason).toBe('Forbidden');
  expect(follower.followed().problem?.message).toMatch(
    /^the guard may not read apiservers\.config\.openshift\.io; Intermediate applies: TLS 1\.2 and later/,
  );
  expect(messages()).toEqual(['the guard may not read apiservers.config.openshift.io']);
  cluster.faults.clear();
  await expect.poll(() => follower.current().type).toBe('Modern');
});

test('keeps the profile while the API server is unreachable, and says so', async () => {
  const { cluster, follower } = await follow(MODERN);
  await expect.poll(() => follower.current().type).toBe('Modern');
  cluster.faults.intercept(() => 'reset');
  cluster.faults.cutConnections();
  await expect.poll(() => follower.followed().problem?.reason).toBe('Unreadable');
  expect(follower.current().type).toBe('Modern');
});

test('warns once about cipher suites that Node.js does not support, and keeps the last usable profile', async () => {
  const custom = { ciphers: ['DES-CBC3-SHA', 'ECDHE-RSA-AES128-GCM-SHA256'], minTLSVersion: 'VersionTLS12' };
  const { cluster, follower, messages, setProfile } = await follow({ type: 'Custom', custom });
  await expect.poll(() => follower.current().type).toBe('Custom');
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  setProfile({ type: 'Custom', custom: { ...custom, ciphers: ['DES-CBC3-SHA'] } });
  await expect.poll(() => follower.followed().problem?.reason).toBe('Unsupported');
  expect(follower.followed().problem?.message).toMatch(
    /^the TLS profile Custom names no cipher suite that Node\.js supports; Custom applies: TLS 1\.2 and later with 4 /,
  );
  const warnings = messages().filter((text) => text.includes('without "DES-CBC3-SHA"'));
  expect(warnings).toEqual([
    expect.stringMatching(/^TLS profile Custom: TLS 1\.2 and later with 4 cipher suites, without/),
  ]);
});
