import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
let root: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'mcg-render-'));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

test.each([
  ['--image', ''],
  ['--image', 'a b'],
  ['--image', 'a\u001B[31mb\nc'],
  ['--profile', 'fail-open'],
  ['--profile', 'fail-open-with-floor'],
  ['--profile', 'fail-open-with-floor', '--kubernetes-version', '1.29'],
  ['--kubernetes-version', '4.18'],
  ['--kubernetes-version', '1.20'],
  ['--kubernetes-version', 'new'],
  ['--tls', 'cert-manager'],
  ['--tls', 'service-ca', '--days', '10'],
  ['--tls', 'service-ca', '--ca-cert-file', 'x', '--ca-key-file', 'y'],
  ['--ca-cert-file', 'x'],
  ['--ca-key-file', 'x'],
  ['--ca-cert-file', '/nowhere/ca.crt', '--ca-key-file', '/nowhere/ca.key'],
  ['--ca-cert-file', 'package.json', '--ca-key-file', 'package.json'],
  ['--ca-cert-file', 'x', '--ca-key-file', 'y', '--days', '3'],
  ['--mode', 'Off'],
  ['--mode', 'enforce'],
  ['--days', '0'],
  ['--days', '10y'],
  ['--days', '3651'],
  ['--output', 'yaml'],
  ['--single-node=maybe'],
  ['--forse'],
  ['surplus'],
  ['--out', ''],
])('render %j %j: one sentence, exit code 2, nothing written', async (...args) => {
  const out = path.join(root, 'openshift');
  const { exitCode, stdout, stderr } = await runProgram(['render', '--out', out, '--image', IMAGE, ...args]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^machineconfig-guard: \P{Cc}+\n$/u);
  expect(existsSync(out)).toBe(false);
});

test.each([[['--out', 'x']], [['--image', IMAGE]], [[]]])('without what it needs (%j): exit code 2', async (args) => {
  const { exitCode, stderr } = await runProgram(['render', ...args]);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^machineconfig-guard: required option '--(?:out|image) <\w+>' not specified\n$/);
});

test('a file where the directory should be', async () => {
  const out = path.join(root, 'file');
  writeFileSync(out, 'mine');
  const { exitCode, stderr } = await runProgram(['render', '--out', out, '--image', IMAGE]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(`machineconfig-guard: ${out} cannot be written to: it is a file, not a directory.\n`);
});

test.each(['/proc/openshift', '/dev/null/openshift'])('%s cannot be written to, and it says so', async (out) => {
  const { exitCode, stderr } = await runProgram(['render', '--out', out, '--image', IMAGE]);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^machineconfig-guard: \S+ cannot be written to: [^\n]+\.\n$/);
});

test('something else under the name of a file of the set', async () => {
  const out = path.join(root, 'openshift');
  const name = '99_machineconfig-guard-50-deployment.yaml';
  mkdirSync(path.join(out, name), { recursive: true });
  const { exitCode, stderr } = await runProgram(['render', '--out', out, '--image', IMAGE, '--force']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('is a directory where a file is to be written');
  expect(await readdir(out)).toEqual([name]);
});
