import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { createAuthority } from '../../../src/certificates/authority.ts';
import { AUTHORITY_SECRET_PATH, WEBHOOK_CONFIGURATIONS_PATH } from '../../../src/kube/api-paths.ts';
import type { Fault } from '../../support/faults.ts';
import { buildInstallation, type InstallationOptions } from '../../../src/install/installation.ts';
import { readFlags, RENDER_FLAGS_ANNOTATION } from '../../../src/install/recorded-flags.ts';
import { DEFAULT_OPTIONS } from '../../install/installation-options.ts';
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
const CERT_MANAGER = { metadata: { annotations: { 'cert-manager.io/inject-ca-from': 'a/b' } } };
const NAMESPACE = '/api/v1/namespaces/machineconfig-guard';
const WEBHOOK = `${WEBHOOK_CONFIGURATIONS_PATH}/machineconfig-guard`;

const BASES: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  Deployment: '/apis/apps/v1/namespaces/machineconfig-guard/deployments',
  NetworkPolicy: '/apis/networking.k8s.io/v1/namespaces/machineconfig-guard/networkpolicies',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Secret: '/api/v1/namespaces/machineconfig-guard/secrets',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  ValidatingWebhookConfiguration: WEBHOOK_CONFIGURATIONS_PATH,
};

/** The answers for the objects of an installation. */
function install(changes: Partial<InstallationOptions>, isRecorded = false): Record<string, object> {
  const { files } = buildInstallation({ ...DEFAULT_OPTIONS, authority: AUTHORITY, ...changes });
  const answers = Object.fromEntries(
    files
      .filter(({ kind }) => kind in BASES)
      .map(({ kind, objectName, content }) => [`${BASES[kind] ?? ''}/${objectName}`, parse(content) as object]),
  );
  return isRecorded ? answers : { ...answers, [NAMESPACE]: { metadata: {} } };
}

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

interface KubeObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

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
  const { exitCode, stderr, out } = await render({ [AUTHORITY_SECRET_PATH]: SECRET }, '--new-authority', '--days', '9');
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
  const answers = { ...install({ authority: undefined }), [WEBHOOK]: INJECTED };
  const kept = await render(answers, '--new-authority');
  expect(kept).toMatchObject({ exitCode: 2, stdout: '' });
  expect(kept.stderr).toMatch(/--new-authority, .* cannot be used with --tls service-ca/);
  const { exitCode, stderr } = await render(answers, '--new-authority', '--tls', 'generated');
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/service CA issues /);
});

test('prefers the version of a flag, and with the service CA reads no Secret', async () => {
  const { stdout, requests } = await render({}, '--openshift-version', '4.18', '--tls', 'service-ca');
  expect(JSON.parse(stdout)).toMatchObject({ failurePolicy: 'Fail', authority: null });
  expect(requests.map(({ path: requested }) => requested)).toContain('/version');
  expect(requests.filter(({ path: requested }) => requested.includes('/secrets'))).toEqual([]);
});

test.each([
  ['an old version', { '/version': { gitVersion: 'v1.26.9' } }, 1, /has version "v1\.26\.9": The oldest supported/],
  ['an unusable authority', { [AUTHORITY_SECRET_PATH]: UNUSABLE }, 1, /create a new authority with --new-authority/],
  [
    'certificates of another issuer',
    { ...install({ authority: undefined }), [WEBHOOK]: CERT_MANAGER },
    1,
    /cert-manager issues .* use --tls service-ca/,
  ],
  [
    'a Deployment that is missing',
    { [WEBHOOK]: INJECTED },
    1,
    /cannot know whether the installed guard has .*--single-node, --host-network.* such as --no-single-node/,
  ],
  [
    'a flag of a newer version',
    { [NAMESPACE]: { metadata: { annotations: { [RENDER_FLAGS_ANNOTATION]: '--future' } } } },
    1,
    /has the flag "--future", which this version does not know/,
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

const FORGOTTEN = [
  [{}, []],
  [{ singleNode: true }, ['--single-node: was set, is kept']],
  [{ hostNetwork: true, singleNode: true }, ['--single-node: was set, is kept', '--host-network: was set, is kept']],
  [{ authority: undefined }, ['--tls: was service-ca, is kept']],
  [{ machineconfigAccess: false }, ['--no-machineconfig-access: was set, is kept']],
  [{ openNetwork: true }, ['--open-network: was set, is kept']],
  [{ referencePolicy: true }, ['--reference-policy: was set, is kept']],
  [{ profile: 'fail-open-with-floor' }, ['--profile: was fail-open-with-floor, is kept']],
  [{ mode: 'Audit', hold: '24h' }, ['--mode: was Audit, is kept', '--hold: was 24h, is kept']],
  [{ kubernetesVersion: { major: 1, minor: 27 } }, []],
] as const satisfies readonly [Partial<InstallationOptions>, string[]][];

test.each(
  FORGOTTEN.flatMap(([changes, notes]) => [true, false].map((isRecorded) => [changes, isRecorded, notes] as const)),
)('keeps the forgotten flags of %j, with annotation: %s', async (changes, isRecorded, notes) => {
  const answers = { '/version': { gitVersion: 'v1.33.0' }, ...install(changes, isRecorded) };
  const { exitCode, stderr, out } = await render(answers);
  expect({ exitCode, lines: stderr.split('\n').slice(0, -1) }).toEqual({
    exitCode: 0,
    lines: notes.map((note) => `machineconfig-guard: ${note}`),
  });
  const namespace = parse(readFileSync(path.join(out, '99_machineconfig-guard-00-namespace.yaml'), 'utf8')) as {
    metadata: { annotations: Record<string, string> };
  };
  const { kubernetesVersion, authority, ...flags } = {
    ...DEFAULT_OPTIONS,
    ...changes,
  } as InstallationOptions;
  expect(kubernetesVersion).toBeDefined();
  const expected = readFlags(namespace.metadata.annotations[RENDER_FLAGS_ANNOTATION] ?? '');
  const { image: _image, ...recorded } = flags;
  expect(expected).toMatchObject({
    ...recorded,
    tls: authority === undefined ? 'service-ca' : 'generated',
  });
});

test.each([
  [{ singleNode: true }, '--no-single-node', '--single-node: was set, is not set'],
  [{}, '--single-node', '--single-node: was not set, is set'],
  [{ machineconfigAccess: false }, '--machineconfig-access', '--no-machineconfig-access: was set, is not set'],
  [{ mode: 'Audit' }, '--mode=Enforce', '--mode: was Audit, is Enforce'],
] as const)('with %j, %s changes the installation and says so', async (changes, flag, note) => {
  const { exitCode, stderr } = await render(install(changes, true), flag);
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining(note) as string,
  });
});

test('recognizes the overlay of 0.1.0', async () => {
  const file = path.join(import.meta.dirname, '../../e2e/install/manifests-0.1.0.yaml');
  const objects = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as KubeObject);
  const answers = Object.fromEntries(
    objects
      .filter(({ kind }) => kind in BASES)
      .map((object) => [`${BASES[object.kind] ?? ''}/${object.metadata.name}`, object]),
  );
  const { exitCode, stderr } = await render(answers, '--openshift-version', '4.18');
  // Its NetworkPolicy admits all addresses.
  const notes = ['--tls: was service-ca, is kept', '--open-network: was set, is kept'];
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: notes.map((note) => `machineconfig-guard: ${note}\n`).join(''),
  });
});

test('with a Deployment that somebody scaled to one replica, asks for the flag', async () => {
  const answers = install({});
  const deployment = `${BASES['Deployment'] ?? ''}/machineconfig-guard`;
  const { spec } = answers[deployment] as { spec: object };
  const scaled = { ...answers, [deployment]: { spec: { ...spec, replicas: 1 } } };
  const { exitCode, stderr } = await render(scaled);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/cannot know whether the installed guard has --single-node: /);
  expect(await render(scaled, '--no-single-node')).toMatchObject({ exitCode: 0 });
});
