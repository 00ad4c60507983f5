import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { createAuthority } from '../../../src/certificates/authority.ts';
import { AUTHORITY_SECRET_PATH, WEBHOOK_CONFIGURATIONS_PATH } from '../../../src/kube/api-paths.ts';
import type { Fault } from '../../support/faults.ts';
import { startEmptyCluster } from '../inspected-cluster.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
const AUTHORITY = await createAuthority({ days: 30, now: new Date() });
const SECRET = {
  data: {
    'ca.crt': Buffer.from(AUTHORITY.certificatePem).toString('base64'),
    'ca.key': Buffer.from(AUTHORITY.privateKeyPem).toString('base64'),
  },
};
const UNUSABLE = { data: { 'ca.crt': SECRET.data['ca.crt'], 'ca.key': '' } };
const INJECTED = { metadata: { annotations: { 'service.beta.openshift.io/inject-cabundle': 'true' } } };
const WEBHOOK = `${WEBHOOK_CONFIGURATIONS_PATH}/machineconfig-guard`;

/** Runs `render --from-cluster` on a cluster of Kubernetes 1.27 with these answers. */
async function render(answers: Readonly<Record<string, object>>, ...flags: string[]) {
  const { cluster, run } = await startEmptyCluster();
  const bodies: Readonly<Record<string, object>> = {
    '/version': { gitVersion: 'v1.27.16+03a907c' },
    ...answers,
  };
  cluster.faults.intercept(({ path: requested }): Fault => {
    const body = bodies[requested];
    if (body === undefined) return { status: 404, body: {} };
    return 'status' in body ? (body as Fault) : { status: 200, body: body as Record<string, unknown> };
  });
  const out = path.join(createTemporaryDirectory(), 'new');
  const args = ['render', '--from-cluster', '--out', out, '--image', IMAGE, '--output', 'json', ...flags];
  return { ...(await run(...args)), out, requests: cluster.faults.requests };
}

test('keeps the authority of the cluster and fits its version', async () => {
  const { exitCode, stdout, out } = await render({ [AUTHORITY_SECRET_PATH]: SECRET });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ failurePolicy: 'Ignore' });
  const secret = readFileSync(path.join(out, '99_machineconfig-guard-40-secret.yaml'), 'utf8');
  expect(secret).toContain(SECRET.data['ca.key']);
});

test('creates an authority if the cluster has none', async () => {
  const { exitCode, stdout } = await render({});
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    authority: { fingerprint256: expect.any(String) as string },
  });
});

interface Webhooks {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle: string } }[];
}

/** Reads the certificate of the rendered Secret, and what the API server trusts, both in base64. */
function readTrust(directory: string) {
  const files = readdirSync(directory);
  const read = (kind: string): unknown =>
    parse(readFileSync(path.join(directory, files.find((file) => file.includes(kind)) ?? ''), 'utf8'));
  const { data } = read('-secret.') as typeof SECRET;
  const [webhook] = (read('-validatingwebhookconfiguration.') as Webhooks).webhooks;
  return { files, created: data['ca.crt'], trusted: webhook?.clientConfig.caBundle ?? '' };
}

test('--new-authority trusts the old authority and a new one before it replaces the Secret', async () => {
  const { exitCode, stderr, out } = await render(
    { [AUTHORITY_SECRET_PATH]: SECRET },
    '--new-authority',
    '--days',
    '9',
  );
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('The API servers trust both until') as string,
  });
  const { files, created, trusted } = readTrust(out);
  expect(created).not.toBe(SECRET.data['ca.crt']);
  const decode = (text: string) => Buffer.from(text, 'base64').toString('utf8');
  expect(decode(trusted)).toBe(AUTHORITY.certificatePem + decode(created));
  const positionOf = (kind: string) => files.findIndex((file) => file.includes(kind));
  expect(positionOf('-validatingwebhookconfiguration.')).toBeLessThan(positionOf('-secret.'));
});

test('--new-authority replaces an unusable authority, and does not trust it', async () => {
  const { exitCode, stderr, out } = await render({ [AUTHORITY_SECRET_PATH]: UNUSABLE }, '--new-authority');
  expect(exitCode).toBe(0);
  expect(stderr).not.toContain('trust both');
  const { created, trusted } = readTrust(out);
  expect(trusted).toBe(created);
});

test('--new-authority replaces no authority of another issuer', async () => {
  const { exitCode, stderr } = await render({ [WEBHOOK]: INJECTED }, '--new-authority');
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/service CA issues /);
});

test('prefers the version of a flag, and with the service CA reads no Secret', async () => {
  const { stdout, requests } = await render({}, '--openshift-version', '4.18', '--tls', 'service-ca');
  expect(JSON.parse(stdout)).toMatchObject({ failurePolicy: 'Fail', authority: null });
  expect(requests.map(({ path: requested }) => requested)).toEqual(['/version']);
});

test.each([
  [
    'an old version',
    { '/version': { gitVersion: 'v1.26.9' } },
    1,
    /has version "v1\.26\.9": The oldest supported/,
  ],
  [
    'an unusable authority',
    { [AUTHORITY_SECRET_PATH]: UNUSABLE },
    1,
    /create a new authority with --new-authority/,
  ],
  [
    'certificates of another issuer',
    { [WEBHOOK]: INJECTED },
    1,
    /service CA issues .* use --tls service-ca/,
  ],
  [
    'a forbidden Secret',
    { [AUTHORITY_SECRET_PATH]: { status: 403, body: { message: 'no' } } },
    3,
    /denies you "get" on secrets in namespace machineconfig-guard/,
  ],
])('writes nothing with %s', async (_name, answers, expectedCode, message) => {
  const { exitCode, stdout, stderr } = await render(answers);
  expect({ exitCode, stdout }).toEqual({ exitCode: expectedCode, stdout: '' });
  expect(stderr).toMatch(message);
});
