import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { beforeEach, expect, test } from 'vitest';
import { isGuardProfile, needsRunningCluster, PROFILES } from '../../../src/install/profiles.ts';
import { usageError, type Outcome, runProgram } from '../run-program.ts';
import { useTerminal } from '../terminal.ts';
import { createTemporaryDirectory, writeFiles } from '../temporary-directory.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
const SECRET = '99_machineconfig-guard-40-secret.yaml';
const WEBHOOK = '99_machineconfig-guard-80-validatingwebhookconfiguration.yaml';
const PROFILES_WITHOUT_GUARD = PROFILES.filter((profile) => !isGuardProfile(profile) && !needsRunningCluster(profile));
let out: string;

beforeEach(() => {
  out = path.join(createTemporaryDirectory(), 'openshift');
});

async function render(...args: string[]): Promise<Outcome> {
  const image = PROFILES_WITHOUT_GUARD.some((profile) => args.includes(profile)) ? [] : ['--image', IMAGE];
  return await runProgram(['render', '--out', out, ...image, ...args]);
}

function read(name: string): string {
  return readFileSync(path.join(out, name), 'utf8');
}

function readSet(): Record<string, string> {
  return Object.fromEntries(readdirSync(out).map((name) => [name, read(name)]));
}

test('prints the files, and commands for an installer, quoted for the shell', async () => {
  const parent = path.dirname(out);
  out = path.join(parent, "it's", 'openshift');
  const flags = ['--kubeconfig', '/second cluster', '--context', 'lab'];
  const { exitCode, stdout, stderr } = await render('--openshift-version', '4.18', ...flags);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const file of readdirSync(out))
    expect(stdout).toMatch(new RegExp(`^ {2}${file}(?: \\(private key, mode 0600\\))?$`, 'm'));
  expect(stdout.slice(stdout.indexOf('Next:')).split('\n')).toEqual([
    'Next:',
    '  # check what the installer gets',
    `  machineconfig-guard check manifests '${parent}/it'\\''s' --openshift-version 4.18`,
    '  # install the cluster, such as in the parent directory with',
    '  openshift-install agent create image',
    '  # then verify that the guard denies a deletion',
    "  machineconfig-guard verify --kubeconfig '/second cluster' --context lab --wait",
    '',
  ]);
  expect(statSync(path.join(out, SECRET)).mode & 0o777).toBe(0o600);
  const { data } = parse(read(SECRET)) as { readonly data: Readonly<Record<string, string>> };
  const { validTo } = new X509Certificate(Buffer.from(data['ca.crt'] ?? '', 'base64'));
  expect(Math.round((Date.parse(validTo) - Date.now()) / 86_400_000)).toBe(3650);
});

test('without a version, advises a check with a placeholder for it', async () => {
  expect((await render()).stdout).toContain(`check manifests ${path.dirname(out)} --openshift-version VERSION\n`);
});

test('prints the command for the running cluster of the flags, quoted for the shell', async () => {
  out = path.join(path.dirname(out), "it's");
  const { stdout } = await render('--openshift-version', '4.18', '--kubeconfig', '/second cluster', '--context', 'lab');
  const quoted = `'${path.dirname(out)}/it'\\''s'`;
  expect(stdout).toContain(`\n  oc --kubeconfig '/second cluster' --context lab apply -f ${quoted}\n`);
});

test('does not advise to apply a directory with other files', async () => {
  out = path.join(path.dirname(out), 'others');
  mkdirSync(out);
  writeFileSync(path.join(out, 'other.yaml'), '# empty\n');
  const { stdout } = await render('--openshift-version', '4.18');
  expect(stdout).toContain('render into an empty directory, because this one has other files\n');
  expect(stdout).not.toContain('apply -f');
});

test('the profiles without a guard need no image, and their files stay beside those of a guard', async () => {
  await render('--openshift-version', '4.18');
  for (const profile of PROFILES_WITHOUT_GUARD) {
    const before = readSet();
    const { exitCode, stdout, stderr } = await render('--openshift-version', '4.18', '--profile', profile);
    expect({ exitCode, stderr }, profile).toEqual({ exitCode: 0, stderr: '' });
    expect(readSet(), profile).toMatchObject(before);
    const files = readdirSync(out).filter((file) => !(file in before));
    expect(stdout).toContain(`Wrote ${files.length} files to`);
    expect(stdout).not.toContain('machineconfig-guard verify');
  }
});

test.each([
  [['--image', 'example.com/guard:1'], 'the image example.com/guard:1 has no digest'],
  [['--openshift-version', '4.14'], 'failurePolicy is Ignore: Kubernetes 1.27 '],
])('with %j, warns on stderr', async (flags, warning) => {
  const { exitCode, stderr } = await render(...flags);
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^machineconfig-guard: warning: [^\n]+\n$/);
  expect(stderr).toContain(warning);
});

test('--out - prints only the manifests to stdout, also as a plugin, and notes on stderr', async () => {
  const flags = ['--tls', 'service-ca', '--openshift-version', '4.15'];
  await render(...flags);
  const stream = Object.values(readSet()).join('---\n');
  const args = ['render', '--out', '-', '--image', IMAGE, ...flags];
  const outcome = await runProgram(args, 'kubectl mcguard');
  const notes = expect.stringMatching(
    /^(?:kubectl mcguard: omitted (?:FlowSchema: |ValidatingAdmissionPolicy ).*\n){2}$/,
  );
  expect(outcome).toEqual({ exitCode: 0, stdout: stream, stderr: notes });
  expect(existsSync('-')).toBe(false);
  const created = await runProgram(['render', '--out', '-', '--image', IMAGE, '--openshift-version', '4.18']);
  expect(created.stderr).toMatch(/^machineconfig-guard: created a new authority\. .* use --from-cluster\.\n$/);
  useTerminal(80, 'stderr');
  const { stderr } = await runProgram(['render', '--out', '-', '--image', 'example.com/guard:1', ...flags]);
  expect(stderr).toMatch(/^machineconfig-guard: warning: the image \S+ has no digest: /);
  expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('replaces an earlier set only with --force, of the same flags only its keys, and no other file', async () => {
  await render('--openshift-version', '4.17');
  const before = readSet();
  writeFileSync(path.join(out, '99_other.yaml'), 'mine');
  expect(await render()).toEqual(usageError(/: \d+ files exist in .*; use --force to overwrite\n$/));
  await render('--openshift-version', '4.17', '--force');
  const after = readSet();
  expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual([SECRET, WEBHOOK, '99_other.yaml']);
  expect(after['99_other.yaml']).toBe('mine');
  const { exitCode, stdout } = await render('--force');
  expect(exitCode).toBe(0);
  const kinds = ['65-flowschema', '70-validatingadmissionpolicy', '75-validatingadmissionpolicybinding'];
  const removed = kinds.map((kind) => `99_machineconfig-guard-${kind}.yaml`);
  expect(stdout).toContain(removed.map((file) => `  removed ${file}\n`).join(''));
  expect(stdout).toMatch(/^Omitted FlowSchema: .*\nOmitted ValidatingAdmissionPolicy .*$/m);
  expect(Object.keys(readSet()).filter((name) => removed.includes(name))).toEqual([]);
});

test('without --force, keeps a file of an older version that no file replaces', async () => {
  const old = '99_machineconfig-guard-99-old.yaml';
  writeFiles(out, { [old]: 'old' });
  expect(await render()).toEqual(usageError(/: 1 file exists in .*; use --force to overwrite\n$/));
  expect(readSet()).toEqual({ [old]: 'old' });
});

test('--policy prints a Policy without a key', async () => {
  const { exitCode, stdout, stderr } = await render('--policy', '--tls', 'service-ca', '--out', '-');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(parse(stdout)).toMatchObject({ kind: 'Policy', metadata: { name: 'machineconfig-guard' } });
  expect(stdout).not.toContain('kind: Secret');
  const floor = await render('--policy', '--profile', 'policy-floor', '--out', '-');
  expect(parse(floor.stdout)).toMatchObject({ metadata: { name: 'machineconfig-guard-policy-floor' } });
});

const REJECTED = readFileSync(new URL('rejected-flags.yaml', import.meta.url), 'utf8');

test.each(parse(REJECTED) as readonly string[][])('with %j %j, exits with 2 and writes nothing', async (...args) => {
  expect(await render(...args)).toEqual(usageError());
  expect(await runProgram(['render', '--out', out])).toEqual(usageError('--image is needed'));
  const ofCluster = await runProgram(['render', '--profile', 'monitoring', '--out', out]);
  expect(ofCluster).toEqual(usageError('--profile monitoring needs --out -, for a running cluster'));
  expect(existsSync(out)).toBe(false);
});
