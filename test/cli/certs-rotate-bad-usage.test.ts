import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
let root: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'mcg-rotate-'));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

test.each([
  ['--days', '0'],
  ['--from', '/nowhere'],
  ['--from', '/dev/null'],
  ['--output', 'yaml'],
  ['--forse'],
  ['surplus'],
  ['--out', ''],
  ['--kubeconfig', '/nowhere'],
])('certs rotate %j %j: one sentence, exit code 2, nothing written', async (...args) => {
  const out = path.join(root, 'rotation');
  const { exitCode, stdout, stderr } = await runProgram(['certs', 'rotate', '--out', out, ...args]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^machineconfig-guard: \P{Cc}+\n$/u);
  expect(existsSync(out)).toBe(false);
});

test('no cluster: exit code 3, and which address', async () => {
  const kubeconfig = path.join(root, 'kubeconfig');
  const cluster = { server: 'https://127.0.0.1:1' };
  const config = {
    clusters: [{ name: 'c', cluster }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify({ ...config, users: [{ name: 'u', user: {} }], 'current-context': 'c' }));
  const { exitCode, stderr } = await runProgram([
    'certs',
    'rotate',
    '--out',
    path.join(root, 'x'),
    '--kubeconfig',
    kubeconfig,
  ]);
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(
    /^machineconfig-guard: cannot get validatingwebhookconfigurations\S*: 127\.0\.0\.1:1 cannot be reached[^\n]*\n$/,
  );
});

test('from a rendered set: three files, the key for its owner alone; earlier ones only with --force', async () => {
  const [set, out] = [path.join(root, 'set'), path.join(root, 'rotation')];
  await runProgram(['render', '--out', set, '--image', IMAGE]);
  const first = await runProgram(['certs', 'rotate', '--from', set, '--out', out, '--output', 'json', '--days', '30']);
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  const summary = { fingerprint256: expect.stringMatching(/^[0-9A-F:]{95}$/), notAfter: expect.any(String) };
  expect(JSON.parse(first.stdout)).toEqual({
    files: ['1-trust-both.yaml', '2-issue-from-new.yaml', '3-trust-new.yaml'].map((name) => path.join(out, name)),
    old: summary,
    new: summary,
    leftOver: 0,
    waitSeconds: 30,
  });
  expect((await runProgram(['certs', 'rotate', '--from', set, '--out', out])).exitCode).toBe(2);
  const forced = await runProgram(['certs', 'rotate', '--from', set, '--out', out, '--force']);
  expect(forced.exitCode).toBe(0);
  expect(forced.stdout).toMatch(/oc apply -f \S+1-trust-both\.yaml\n {2}sleep 30\n {2}oc apply -f \S+2-issue/);
});

test('a set whose certificates somebody else makes: exit code 1, and who', async () => {
  const set = path.join(root, 'set');
  await runProgram(['render', '--out', set, '--image', IMAGE, '--tls', 'service-ca']);
  const { exitCode, stderr } = await runProgram(['certs', 'rotate', '--from', set, '--out', path.join(root, 'x')]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("OpenShift's service CA makes the certificates");
});
