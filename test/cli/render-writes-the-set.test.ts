import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram, type Outcome } from './run-program.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
const SECRET = '99_machineconfig-guard-40-secret.yaml';
const WEBHOOK = '99_machineconfig-guard-80-validatingwebhookconfiguration.yaml';
let out: string;

beforeEach(async () => {
  out = path.join(await mkdtemp(path.join(tmpdir(), 'mcg-render-')), 'openshift');
});
afterEach(async () => {
  await rm(path.dirname(out), { recursive: true });
});

function render(...args: string[]): Promise<Outcome> {
  return runProgram(['render', '--out', out, '--image', IMAGE, ...args]);
}

function read(name: string): string {
  return readFileSync(path.join(out, name), 'utf8');
}

function authorityIn(name: string): string | undefined {
  const { data } = parse(read(name)) as { data: Record<string, string> };
  return data['ca.crt'];
}

test('it says what it wrote and what to do next', async () => {
  const { exitCode, stdout, stderr } = await render('--kubernetes-version', '1.31');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const file of await readdir(out)) expect(stdout).toContain(`  ${file} `);
  expect(stdout).toContain('openshift-install agent create image');
  expect(stdout).toContain(`oc apply -f ${out}`);
  expect(stdout).toContain('machineconfig-guard verify');
});

test('the authority lives for as long as was asked for', async () => {
  await render('--days', '30');
  const certificate = new X509Certificate(Buffer.from(authorityIn(SECRET) ?? '', 'base64'));
  expect(new Date(certificate.validTo).getTime() - Date.now()).toBeGreaterThan(29.9 * 86_400_000);
  expect(new Date(certificate.validTo).getTime() - Date.now()).toBeLessThan(30.1 * 86_400_000);
});

test('the private key is for its owner alone, whatever the umask', async () => {
  const umask = process.umask(0);
  try {
    await render();
  } finally {
    process.umask(umask);
  }
  expect(statSync(path.join(out, SECRET)).mode & 0o777).toBe(0o600);
  for (const file of await readdir(out)) {
    if (file !== SECRET) expect(read(file)).not.toContain('PRIVATE');
  }
});

test('an image without a digest is warned about, on stderr', async () => {
  const { exitCode, stderr } = await runProgram(['render', '--out', out, '--image', 'registry.example.com/guard:1']);
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(
    /^machineconfig-guard: warning: --image registry\.example\.com\/guard:1 has no digest[^\n]+\n$/,
  );
});

test('an earlier set is only replaced with --force, and nothing else is touched', async () => {
  await render('--mode', 'Warn');
  const before = read(SECRET);
  writeFileSync(path.join(out, '99_other.yaml'), 'mine');
  const refused = await render();
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toMatch(/^machineconfig-guard: .*there already; use --force [^\n]*\n$/);
  expect(read(SECRET)).toBe(before);

  const { exitCode, stdout } = await render('--force');
  expect(exitCode).toBe(0);
  expect(read(SECRET)).not.toBe(before);
  expect(read('99_other.yaml')).toBe('mine');
  // It set the mode, and the new set does not: left behind it would set it again.
  expect(stdout).toContain('removed 99_machineconfig-guard-90-machineconfigguard.yaml');
  expect(await readdir(out)).not.toContain('99_machineconfig-guard-90-machineconfigguard.yaml');
});

test('rendered again with the same authority, nothing differs', async () => {
  await render();
  const { data } = parse(read(SECRET)) as { data: Record<string, string> };
  const files = Object.entries(data).map(([name, value]) => {
    const file = path.join(path.dirname(out), name);
    writeFileSync(file, Buffer.from(value, 'base64'));
    return file;
  });
  const before = Object.fromEntries((await readdir(out)).map((name) => [name, read(name)]));
  const [certificate = '', key = ''] = files;
  expect(await render('--force', '--ca-cert-file', certificate, '--ca-key-file', key)).toMatchObject({ exitCode: 0 });
  expect(Object.fromEntries((await readdir(out)).map((name) => [name, read(name)]))).toEqual(before);
});

test('two runs differ in the keys alone', async () => {
  await render();
  const first = Object.fromEntries((await readdir(out)).map((name) => [name, read(name)]));
  await render('--force');
  const different = Object.keys(first).filter((name) => read(name) !== first[name]);
  expect(different.toSorted()).toEqual([SECRET, WEBHOOK]);
});

test('the keys of --output json', async () => {
  const report = JSON.parse((await render('--output', 'json')).stdout) as Record<string, unknown>;
  expect(report).toEqual({
    directory: out,
    files: expect.arrayContaining([{ file: SECRET, kind: 'Secret', name: 'machineconfig-guard-ca', secret: true }]),
    removed: [],
    bytes: expect.any(Number),
    gzipBytes: expect.any(Number),
    image: IMAGE,
    profile: 'fail-closed',
    tls: 'generated',
    authority: {
      fingerprint256: expect.stringMatching(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      notAfter: expect.any(String),
    },
    leftOut: [expect.stringContaining('FlowSchema')],
    warnings: [],
  });
});
