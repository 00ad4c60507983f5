import { expect, test } from 'vitest';
import { TlsProfileFollower } from '../../src/guard/tls-profile-follower.ts';
import type { Interceptor } from '../support/faults.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { runUntilEnd } from '../support/until-end.ts';

const RESOURCE = 'apiservers';
const MODERN = { type: 'Modern', modern: {} };

/** Follows the profile of a new cluster, with an APIServer if there is a profile. */
async function follow(tlsSecurityProfile?: object, fault: Interceptor = () => 'pass') {
  const cluster = await startTestCluster();
  const create = (profile: object): void =>
    void cluster.create(RESOURCE, { metadata: { name: 'cluster' }, spec: { tlsSecurityProfile: profile } });
  if (tlsSecurityProfile !== undefined) create(tlsSecurityProfile);
  cluster.faults.intercept(fault);
  const { log, messages } = memoryLog();
  const follower = new TlsProfileFollower({ api: cluster.connect(), log, intervalMs: 10 });
  const changes: string[] = [];
  follower.onChange(() => changes.push(follower.current().type));
  runUntilEnd((signal) => follower.run(signal));
  const setProfile = (profile: object | null): void =>
    void cluster.patch(RESOURCE, 'cluster', { spec: { tlsSecurityProfile: profile } });
  return { cluster, follower, changes, messages, create, setProfile };
}

test('applies each change once, and Intermediate when the profile or the object is removed', async () => {
  const { cluster, changes, messages, create, setProfile } = await follow({ type: 'Old' });
  const awaitChanges = async (...types: string[]) => {
    await expect.poll(() => changes).toEqual(types);
    expect(messages()).toEqual(types.map((type) => `TLS profile is ${type}`));
  };
  await awaitChanges('Old');
  setProfile(MODERN);
  await awaitChanges('Old', 'Modern');
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  setProfile(null);
  await awaitChanges('Old', 'Modern', 'Intermediate');
  cluster.erase(RESOURCE, 'cluster');
  create(MODERN);
  await awaitChanges('Old', 'Modern', 'Intermediate', 'Modern');
});

test('uses Intermediate without the right to read it, and says so', async () => {
  const fault: Interceptor = ({ path }) => (path.endsWith(`${RESOURCE}/cluster`) ? { status: 403 } : 'pass');
  const { cluster, follower, changes, messages } = await follow(MODERN, fault);
  await expect.poll(() => follower.followed().problem?.reason).toBe('Forbidden');
  expect(follower.followed().problem?.message).toMatch(
    /^the guard may not read apiservers\.config\.openshift\.io; Intermediate applies: TLS 1\.2 and later/,
  );
  expect(messages()).toEqual(['the guard may not read apiservers.config.openshift.io']);
  cluster.faults.clear();
  await expect.poll(() => changes).toEqual(['Modern']);
  expect(follower.followed()).toEqual({ profile: follower.current() });
  cluster.faults.intercept(() => ({ status: 500 }));
  await expect.poll(() => follower.followed().problem?.reason).toBe('Unreadable');
  const { problem } = follower.followed();
  expect(problem?.message).toMatch(/^cannot read apiservers\.config\.openshift\.io: .* 500; Modern applies: /);
  const unread = new TlsProfileFollower({ api: cluster.connect(), log: memoryLog().log }).followed();
  const message = expect.stringMatching(/^not read yet: apiservers; Intermediate applies: /) as string;
  expect(unread.problem).toEqual({ reason: 'Reading', message });
});

test('warns once about cipher suites that Node.js does not support, and keeps the last usable profile', async () => {
  const custom = { ciphers: ['DES-CBC3-SHA', 'ECDHE-RSA-AES128-GCM-SHA256'], minTLSVersion: 'VersionTLS12' };
  const { cluster, follower, changes, messages, setProfile } = await follow({ type: 'Custom', custom });
  await expect.poll(() => changes).toEqual(['Custom']);
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  setProfile({ type: 'Custom', custom: { ...custom, ciphers: ['DES-CBC3-SHA'] } });
  await expect.poll(() => follower.followed().problem?.reason).toBe('Unsupported');
  expect(follower.followed().problem?.message).toMatch(
    /^the TLS profile Custom names no cipher suite that Node\.js supports; Custom applies: TLS 1\.2 and later with 4 /,
  );
  expect(messages().filter((text) => text.includes('without "DES-CBC3-SHA"'))).toHaveLength(1);
});
