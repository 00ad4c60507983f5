import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { createAuthority } from '../../../src/certificates/authority.ts';
import { parseFlagLabels } from '../../../src/cli/render/render-flags.ts';
import { WEBHOOK_CONFIGURATIONS_PATH } from '../../../src/kube/api-paths.ts';
import type { Fault } from '../../support/faults.ts';
import { buildInstallation, type InstallationOptions } from '../../../src/install/installation.ts';
import { RENDER_OPTIONS } from '../../install/rendered-sets.ts';
import { readField } from '../../install/read-field.ts';
import { startEmptyCluster } from '../inspected-cluster.ts';
import { AUTHORITY_SECRET_PATH, GUARD_PATH } from '../../../src/api/paths.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
const AUTHORITY = await createAuthority({ days: 30, now: new Date() });
const SECRET = {
  data: {
    'ca.crt': Buffer.from(AUTHORITY.certificatePem).toString('base64'),
    'ca.key': Buffer.from(AUTHORITY.privateKeyPem).toString('base64'),
  },
};
const UNUSABLE = { data: { 'ca.crt': SECRET.data['ca.crt'], 'ca.key': '' } };
const DEPLOYMENT = '/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard';
const INFRASTRUCTURE = '/apis/config.openshift.io/v1/infrastructures/cluster';
const WEBHOOK = `${WEBHOOK_CONFIGURATIONS_PATH}/machineconfig-guard`;
const SINGLE_NODE = { [INFRASTRUCTURE]: { status: 200, body: { status: { controlPlaneTopology: 'SingleReplica' } } } };

const PATHS: Readonly<Record<string, string>> = {
  Deployment: DEPLOYMENT,
  ValidatingWebhookConfiguration: WEBHOOK,
  Secret: AUTHORITY_SECRET_PATH,
};

/** The answers for the objects of an installation. */
function install(changes: Partial<InstallationOptions>): Record<string, object> {
  const { files } = buildInstallation({ ...RENDER_OPTIONS, authority: AUTHORITY, ...changes });
  const known = files.filter(({ kind }) => kind in PATHS);
  return Object.fromEntries(known.map(({ kind, content }) => [PATHS[kind] ?? '', parse(content) as object]));
}

/** Without the objects whose path contains a text. */
function omit(answers: Readonly<Record<string, object>>, text: string): Record<string, object> {
  return Object.fromEntries(Object.entries(answers).filter(([requested]) => !requested.includes(text)));
}

/** Runs `render --from-cluster` on a cluster of Kubernetes 1.27 with these answers. */
async function render(answers: Readonly<Record<string, object>>, ...flags: string[]) {
  const { cluster, run, kubeconfig } = await startEmptyCluster();
  const bodies: Readonly<Record<string, object>> = { '/version': { gitVersion: 'v1.27.16+03a907c' }, ...answers };
  cluster.faults.intercept(({ path: requested }): Fault => {
    const body = bodies[requested];
    if (body === undefined) return { status: 404, body: {} };
    return 'status' in body ? (body as Fault) : { status: 200, body: body as Record<string, unknown> };
  });
  const out = path.join(path.dirname(kubeconfig), 'new');
  const needsImage = answers[DEPLOYMENT] === undefined && answers[WEBHOOK] === undefined && flags[0] !== '--profile';
  const image = needsImage ? ['--image', IMAGE] : [];
  const args = ['render', '--from-cluster', '--out', out, ...image, ...flags];
  return { ...(await run(...args)), out, kubeconfig, requests: cluster.faults.requests };
}

test('keeps the authority of the cluster, or creates one, and fits the version of the cluster', async () => {
  const { exitCode, stdout, stderr, out, kubeconfig } = await render({ [AUTHORITY_SECRET_PATH]: SECRET });
  // The difference comes before the upgrade.
  const [diff, apply] = ['diff', 'apply'].map((verb) =>
    stdout.indexOf(`\n  oc --kubeconfig ${kubeconfig} ${verb} -f ${out}\n`),
  );
  expect(diff).toBeGreaterThan(0);
  expect(apply).toBeGreaterThan(Number(diff));
  // Another cluster must not get these keys.
  expect(stdout).not.toContain('for a new cluster');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('failurePolicy is Ignore') });
  const secret = readFileSync(path.join(out, '99_machineconfig-guard-40-secret.yaml'), 'utf8');
  expect(secret).toContain(SECRET.data['ca.crt']);
  const created = await render({});
  const other = readFileSync(path.join(created.out, '99_machineconfig-guard-40-secret.yaml'), 'utf8');
  expect([created.exitCode, other.includes(SECRET.data['ca.crt'])]).toEqual([0, false]);
});

test.each([
  ['trusts the old authority and a new one before it replaces the Secret', SECRET],
  ['does not trust an unusable one that it replaces', UNUSABLE],
])('--new-authority %s', async (_what, secret) => {
  const { exitCode, stderr, out } = await render({ [AUTHORITY_SECRET_PATH]: secret }, '--new-authority');
  const isTrusted = secret === SECRET;
  expect([exitCode, stderr.includes('The API servers trust both until')]).toEqual([0, isTrusted]);
  const files = readdirSync(out);
  const [webhookFile = '', secretFile = ''] = ['-validating', '-secret.'].flatMap((kind) =>
    files.filter((file) => file.includes(kind)),
  );
  expect(webhookFile < secretFile).toBe(isTrusted);
  const read = (file: string) => parse(readFileSync(path.join(out, file), 'utf8')) as object;
  const decode = (file: string, field: string) => atob(String(readField(read(file), field)));
  const created = (readField(read(secretFile), 'data') as typeof SECRET.data)['ca.crt'];
  expect(created).not.toBe(SECRET.data['ca.crt']);
  const before = isTrusted ? AUTHORITY.certificatePem : '';
  expect(decode(webhookFile, 'webhooks.0.clientConfig.caBundle')).toBe(before + atob(created));
});

test('with the service CA, reads no Secret', async () => {
  const { stdout, stderr, requests } = await render(VERSION, '--tls', 'service-ca');
  expect(stdout + stderr).not.toMatch(/authority|failurePolicy/);
  expect(requests.map(({ path: requested }) => requested)).toContain('/version');
  expect(requests.filter(({ path: requested }) => requested.includes('/secrets'))).toEqual([]);
});

const VERSION = { '/version': { gitVersion: 'v1.31.9' } };
const PROFILE = { 'render.machineconfig-guard.io/profile': 'fail-closed' };
/** The webhook configuration of another version or overlay. */
const label = (flag: string, value: string) => ({
  [WEBHOOK]: { metadata: { labels: { [`render.machineconfig-guard.io/${flag}`]: value, ...PROFILE } } },
});

const NO_AUTHORITY = { authority: undefined };

test.each<[string, Record<string, object>, number, RegExp, ...string[]]>([
  ['an old version', { '/version': { gitVersion: 'v1.26.9' } }, 1, /has version "v1\.26\.9": The oldest supported/],
  ['an unusable authority', { [AUTHORITY_SECRET_PATH]: UNUSABLE }, 1, /create a new authority with --new-authority/],
  ['a forbidden Secret', { [AUTHORITY_SECRET_PATH]: { status: 403, body: {} } }, 3, /denies you "get" on secrets in /],
  ['certificates of cert-manager', label('tls', 'cert-manager'), 1, /apply the overlay cert-manager /],
  ['another issuer', install({}), 1, /has --tls generated, which an upgrade cannot/, '--tls', 'service-ca'],
  ['an authority', install(NO_AUTHORITY), 1, /has --tls service-ca, which/, '--new-authority', '--tls', 'generated'],
  ['a service CA', install(NO_AUTHORITY), 2, /no --tls service-ca; drop --new-authority/, '--new-authority'],
  ['a guard without labels', { [WEBHOOK]: {} }, 1, /cannot know the flags of .*: there is no label render\./],
  ['a flag of a newer version', label('future', 'true'), 1, /does not know --future; uninstall it first\n/],
])('writes nothing with %s', async (_name, answers, expectedCode, message, ...flags) => {
  const { exitCode, stdout, stderr } = await render(answers, ...flags);
  expect({ exitCode, stdout }).toEqual({ exitCode: expectedCode, stdout: '' });
  expect(stderr).toMatch(message);
});

const ACCESS_ROLES = ['role', 'rolebinding'].map((kind) => `cluster${kind}/machineconfig-guard-machineconfigs`);
const FLOOR = ['policy', 'policybinding'].flatMap((kind) => {
  return ['nodes', 'pools'].map((name) => `validatingadmission${kind}/${name}.machineconfig-guard.io`);
});
const EVERY_FLAG = {
  profile: 'fail-open-with-floor',
  authority: undefined,
  mode: 'Audit',
  hold: '24h',
  singleNode: true,
  hostNetwork: true,
  machineconfigAccess: false,
  openNetwork: true,
} as const;
const FORGOTTEN = [
  ['no flag', {}, []],
  [
    'every flag',
    EVERY_FLAG,
    [
      '--profile: was fail-open-with-floor, is kept',
      '--tls: was service-ca, is kept',
      '--mode: was Audit, is kept',
      '--hold: was 24h, is kept',
      '--single-node: was set, is kept',
      '--host-network: was set, is kept',
      '--no-machineconfig-access: was set, is kept',
      '--open-network: was set, is kept',
    ],
  ],
  ['no flag on OpenShift 4.14', { kubernetesVersion: 27 }, []],
] as const satisfies readonly [string, Partial<InstallationOptions>, string[]][];

const toLines = (notes: readonly string[]) => notes.map((note) => `machineconfig-guard: ${note}\n`).join('');

test.each(FORGOTTEN)('keeps the image, and the forgotten flags of a guard with %s', async (_what, changes, notes) => {
  const installed = { '/version': { gitVersion: 'v1.33.0' }, ...install(changes) };
  const { kubernetesVersion: _version, authority, image, ...flags } = { ...RENDER_OPTIONS, ...changes };
  // One of the two objects that are read shows the flags and the image.
  for (const missing of ['nothing', '/validatingwebhookconfigurations/', 'deployments']) {
    const topology = 'singleNode' in changes ? SINGLE_NODE : {};
    const { exitCode, stderr, out } = await render({ ...omit(installed, missing), ...topology });
    expect({ missing, exitCode, stderr }).toEqual({ missing, exitCode: 0, stderr: toLines(notes) });
    const texts = readdirSync(out).map((file) => readFileSync(path.join(out, file), 'utf8'));
    expect(texts.join('\n')).toContain(`image: ${image}\n`);
    const labels = texts.map((text) => readField(parse(text), 'metadata.labels') as object);
    const recorded = parseFlagLabels(Object.assign({}, ...labels) as Record<string, string>);
    expect(recorded).toMatchObject({ ...flags, tls: authority === undefined ? 'service-ca' : 'generated' });
  }
});

test.each([
  [{ singleNode: true }, '--no-single-node', '--single-node: was set, is not set', []],
  [{ mode: 'Audit' }, '--mode=Enforce', '--mode: was Audit, is Enforce', []],
  [{}, '--no-machineconfig-access', '--no-machineconfig-access: was not set, is set', ACCESS_ROLES],
  [
    { profile: 'fail-open-with-floor' },
    '--profile=fail-closed',
    '--profile: was fail-open-with-floor, is fail-closed',
    FLOOR,
  ],
] as const)('with %j, %s changes the installation and says so', async (changes, flag, note, objects) => {
  const answers = { '/version': { gitVersion: 'v1.33.0' }, ...install(changes) };
  const { exitCode, stderr, kubeconfig } = await render(answers, flag);
  expect(exitCode).toBe(0);
  const [first, second] = stderr.split('\n');
  expect(first).toBe(`machineconfig-guard: ${note}`);
  const removal =
    'machineconfig-guard: after the upgrade, delete the objects that it no longer needs: ' +
    `oc --kubeconfig ${kubeconfig} delete -n machineconfig-guard --ignore-not-found ${objects.join(' ')}`;
  expect(second).toBe(objects.length === 0 ? '' : removal);
});

test('a first installation beside one node gets one replica, unless a flag says otherwise', async () => {
  const note = '--single-node: is set, because the cluster has one control-plane node';
  const answers = { ...SINGLE_NODE, ...VERSION };
  expect(await render(answers)).toMatchObject({ exitCode: 0, stderr: toLines([note]) });
  expect(await render(answers, '--no-single-node')).toMatchObject({ exitCode: 0, stderr: '' });
});

test.each([
  [['--hold', '24h'], {}, '{"spec":{"holdSuperseded":"24h"}}'],
  [
    ['--hold', '24h', '--mode', 'Audit'],
    { mode: 'Warn', holdSuperseded: '12h' },
    '{"spec":{"mode":"Audit","holdSuperseded":"24h"}}',
  ],
  [['--hold', '24h', '--mode', 'Audit'], { mode: 'Audit', holdSuperseded: '1440m' }, undefined],
  // A flag of the installation does not count any more.
  [[], { mode: 'Warn', holdSuperseded: '12h' }, undefined],
])('with %j beside a MachineConfigGuard of %j, prints the patch %s', async (flags, spec, patch) => {
  const answers = { ...install({ authority: undefined, hold: '3h', mode: 'Disabled' }), [GUARD_PATH]: { spec } };
  const { exitCode, stderr, kubeconfig } = await render({ ...answers, ...VERSION }, ...flags);
  const advice =
    'the existing MachineConfigGuard keeps its settings; change them with: ' +
    `oc --kubeconfig ${kubeconfig} patch mcguard cluster --type=merge -p '${patch}'`;
  const notes = ['--tls: was service-ca, is kept', ...(patch === undefined ? [] : [advice])];
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: toLines(notes) });
});

test('says that a lost Secret makes a new authority, and that no guard has an image to keep', async () => {
  const { exitCode, stderr } = await render({ ...omit(install({}), '/secrets/'), ...VERSION });
  const note =
    'the Secret machineconfig-guard-ca is missing: created a new authority. Calls fail until all pods use it';
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: toLines([note]) });
  expect(await render({}, '--profile', 'fail-closed')).toMatchObject({
    exitCode: 2,
    stderr:
      'machineconfig-guard: --image is needed: the cluster does not show the image of a guard. ' +
      'If you installed an overlay, apply it again\n',
  });
});

test.each([
  [{}, 'machineconfig-guard-ca'],
  [{ authority: undefined }, 'machineconfig-guard-service-ca'],
  ['cert-manager', 'machineconfig-guard-tls'],
])('with %j, Prometheus trusts %s', async (installed, trusted) => {
  const answers = typeof installed === 'string' ? label('tls', installed) : install(installed);
  const { exitCode, stdout } = await render(answers, '--profile', 'monitoring', '--out', '-');
  const monitor = stdout.split('---\n').find((text) => text.includes('kind: ServiceMonitor')) ?? '';
  expect([exitCode, /ca:\n +\w+:\n +name: (.*)/.exec(monitor)?.[1]]).toEqual([0, trusted]);
});

test('without an installed guard, --tls says whom Prometheus trusts', async () => {
  const { exitCode, stdout } = await render(VERSION, '--profile', 'monitoring', '--out', '-', '--tls', 'generated');
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('machineconfig-guard-ca') });
});

test('without a guard in the profile, reads only the version', async () => {
  const version = { '/version': { gitVersion: 'v1.29.0' } };
  const older = await render(version, '--profile', 'policy-floor');
  expect(older).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('policy-floor needs Kubernetes 1.30'),
  });
  const { exitCode, requests } = await render(version, '--profile', 'restore-role');
  expect([exitCode, requests.map(({ path: requested }) => requested)]).toEqual([0, ['/version']]);
});
