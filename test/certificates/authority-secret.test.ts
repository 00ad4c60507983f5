import { expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { followAuthoritySecret } from '../../src/certificates/authority-secret.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { encodeBase64 } from '../../src/install/manifest.ts';
import { memoryLog } from '../support/log.ts';
import { START } from '../virtual-time/clock.ts';
import { SECRET } from '../virtual-time/replica.ts';
import { startWorld, VirtualWorld } from '../virtual-time/world.ts';

const DAY_MS = 24 * 3_600_000;
const NAME = `secret ${SECRET.namespace}/${SECRET.name}`;
const PROBLEM = `${NAME} cannot be used: `;

function eraseSecret({ cluster }: VirtualWorld): void {
  cluster.erase('secrets', SECRET.name, SECRET.namespace);
}

function patchKey({ cluster }: VirtualWorld, key: string | null): void {
  cluster.patch('secrets', SECRET.name, { data: { 'ca.key': key } }, SECRET.namespace);
}

/** Until the end of the test, or until the returned function is called. */
function forbidSecret({ faults }: VirtualWorld): () => void {
  return faults.intercept(({ path }) => (path.endsWith(`/secrets/${SECRET.name}`) ? { status: 403 } : 'pass'));
}

test.each<[string, (world: VirtualWorld) => void | (() => void), string]>([
  ['has no key', (world) => patchKey(world, null), `${PROBLEM}it has no ca.key`],
  ['cannot be read', forbidSecret, `cannot read ${NAME}: the API server answered 403`],
  [
    'contains another key',
    (world) => patchKey(world, encodeBase64(world.authorities[1]?.privateKeyPem ?? '')),
    `${PROBLEM}the private key belongs to another certificate`,
  ],
  ['is missing', eraseSecret, `${PROBLEM}it does not exist`],
])('keeps the leaf, logs once and renews from memory if the Secret %s', async (_name, spoil, problem) => {
  const { world, clock, replica } = await startWorld({ followsSecret: true });
  const readLeaf = async () => (await replica.shakeHands('securePort')).fingerprint256;
  const before = await readLeaf();
  const repair = spoil(world);
  await clock.pass(5_000);
  expect(replica.messages().filter((message) => message === problem)).toHaveLength(1);
  expect(await readLeaf()).toBe(before);
  clock.skip(6 * DAY_MS);
  await clock.pass(2_000);
  expect(await readLeaf()).not.toBe(before);
  repair?.();
  world.setAuthority();
  await clock.pass(2_000);
  expect(replica.messages()).toContain(`${NAME} can be used again`);
});

test('waits at start until the Secret contains a valid authority', async () => {
  const world = await VirtualWorld.start({ replicas: 0 });
  const { clock } = world;
  eraseSecret(world);
  const starting = world.addReplica({ followsSecret: true });
  await clock.pass(2_000);
  world.setAuthority(await createAuthority({ days: 1, now: new Date(START - 10 * DAY_MS) }));
  await clock.pass(2_000);
  expect(world.replicas).toEqual([]);
  world.setAuthority();
  await clock.pass(2_000);
  const replica = await starting;
  expect((await replica.shakeHands('securePort')).ca).toBe(false);
  expect(replica.messages().filter((message) => message.startsWith(PROBLEM))).toEqual([
    `${PROBLEM}it does not exist`,
    expect.stringContaining('cannot be used: the authority expired at '),
  ]);
});

test('issues a certificate that is valid by the clock of the API server', async () => {
  const world = await VirtualWorld.start({ replicas: 0 });
  world.apiClockOffsetMs = 8 * DAY_MS;
  const replica = await world.addReplica({ followsSecret: true });
  expect((await replica.shakeHands('securePort')).ca).toBe(false);
});

test('issues one certificate, and not one a second, while the authority ends soon', async () => {
  const world = await VirtualWorld.start({ replicas: 0 });
  const { clock } = world;
  world.setAuthority(await createAuthority({ days: 1, now: new Date(START - DAY_MS + 600_000) }));
  const replica = await world.addReplica({ followsSecret: true });
  await clock.pass(5_000);
  expect(replica.messages().filter((message) => message.startsWith('serving certificate issued'))).toHaveLength(1);
  clock.skip(700_000);
  await clock.pass(2_000);
  const expired = expect.stringContaining('cannot be used: the authority expired at ') as unknown;
  expect(replica.messages()).toContainEqual(expired);
});

test('logs that it cannot issue a certificate for the name of its Service', async () => {
  const { certificatePem, privateKeyPem } = await createAuthority({ days: 1, now: new Date() });
  const data = { 'ca.crt': encodeBase64(certificatePem), 'ca.key': encodeBase64(privateKeyPem) };
  const json = async () => await Promise.resolve({ kind: 'Secret', data });
  const { log, messages } = memoryLog();
  const stop = new AbortController();
  const api = { json, now: () => new Date() } as unknown as KubeApi;
  const options = { api, log, signal: stop.signal, namespace: 'ä', name: 'x' };
  const following = followAuthoritySecret(options);
  const problem: unknown = expect.stringMatching(/^cannot issue a serving certificate: .* cannot be verified for /);
  await expect.poll(messages).toEqual([problem]);
  stop.abort();
  await expect(following).rejects.toThrow('aborted');
});
