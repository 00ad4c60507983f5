import { X509Certificate } from 'node:crypto';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { followAuthoritySecret } from '../../src/certificates/authority-secret.ts';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import type { ServingCertificate } from '../../src/certificates/key-pair.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster } from '../support/test-cluster.ts';

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 10, 20);
const NAMESPACE = 'guard-ns';
const NAME = 'machineconfig-guard-ca';
const ANOTHER = 'the private key belongs to another certificate';
const PROBLEM = `secret ${NAMESPACE}/${NAME} cannot be used: `;

let first: Authority;
let second: Authority;

beforeEach(async () => {
  const options = { days: 365, now: new Date(START) };
  [first, second] = await Promise.all([createAuthority(options), createAuthority(options)]);
});

type SecretData = Readonly<Record<string, string | null>>;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const dataOf = ({ certificatePem, privateKeyPem }: Authority): SecretData => ({
  'ca.crt': base64(certificatePem),
  'ca.key': base64(privateKeyPem),
});

async function follow(data: SecretData | undefined) {
  const cluster = await startTestCluster();
  const metadata = { name: NAME, namespace: NAMESPACE };
  const write = (data: SecretData) => {
    if (cluster.get('secrets', NAME, NAMESPACE) === undefined) cluster.create('secrets', { metadata, data });
    else cluster.patch('secrets', NAME, { data }, NAMESPACE);
  };
  if (data !== undefined) write(data);
  const { log, lines, messages } = memoryLog();
  const stop = new AbortController();
  const clock = { now: START };
  const starting = followAuthoritySecret({
    api: cluster.connect(),
    namespace: NAMESPACE,
    name: NAME,
    log,
    signal: stop.signal,
    now: () => new Date(clock.now),
    intervalMs: 10,
  });
  onTestFinished(() => stop.abort());
  /** Waits until the Secret was read twice more: the first read can have begun before. */
  const awaitReads = async () => {
    const { requests } = cluster.faults;
    const before = requests.length;
    await expect.poll(() => requests.length).toBeGreaterThan(before + 2);
  };
  return { cluster, clock, lines, messages, starting, write, awaitReads };
}

const leafOf = (certificate: ServingCertificate) => new X509Certificate(certificate.current().certificatePem);

test.each<[string, (follower: Awaited<ReturnType<typeof follow>>) => void, string]>([
  ['has no key', ({ write }) => write({ 'ca.key': null }), 'it has no ca.key'],
  ['contains another key', ({ write }) => write({ 'ca.key': base64(second.privateKeyPem) }), ANOTHER],
  ['is missing', ({ cluster }) => cluster.erase('secrets', NAME, NAMESPACE), 'it does not exist'],
])('keeps the leaf, logs once and renews from memory if the Secret %s', async (_name, spoil, reason) => {
  const follower = await follow(dataOf(first));
  const { clock, write, starting, messages, awaitReads } = follower;
  const certificate = await starting;
  const before = leafOf(certificate).fingerprint256;
  spoil(follower);
  await expect.poll(messages).toContain(PROBLEM + reason);
  await awaitReads();
  expect(messages().filter((message) => message === PROBLEM + reason)).toHaveLength(1);
  expect(leafOf(certificate).fingerprint256).toBe(before);
  clock.now = START + 6 * DAY_MS;
  await expect.poll(() => leafOf(certificate).fingerprint256).not.toBe(before);
  write(dataOf(first));
  await expect.poll(() => messages().at(-1)).toBe(`secret ${NAMESPACE}/${NAME} can be used again`);
});

test('waits at start until the Secret contains a valid authority', async () => {
  const expired = await createAuthority({ days: 1, now: new Date(START - 10 * DAY_MS) });
  const { write, starting, messages } = await follow(undefined);
  await expect.poll(messages).toEqual([`${PROBLEM}it does not exist`]);
  write(dataOf(expired));
  await expect.poll(() => messages().at(-1)).toMatch(/cannot be used: the authority expired at /);
  write(dataOf(first));
  expect(leafOf(await starting).ca).toBe(false);
});
