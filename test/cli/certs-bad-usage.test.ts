import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'mcg-certs-'));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

test.each([
  ['--days', '0'],
  ['--days', '-1'],
  ['--days', '1.5'],
  ['--days', '1e3'],
  ['--days', '0x10'],
  ['--days', ''],
  ['--days', 'ten'],
  ['--days', '3651'],
  ['--days', '99999999999999999999999'],
  ['--ca-days', '0'],
  ['--days', '20', '--ca-days', '10'],
  ['--ip', '1.2.3'],
  ['--ip', 'fe80::1%eth0'],
  ['--ip', 'guard.example.com'],
  ['--dns', ''],
  ['--dns', 'bücher.example'],
  ['--dns', '-rf'],
  ['--dns', '192.0.2.10'],
  ['--dns', 'a'.repeat(300)],
  ['--dns', 'a\u001B[31m\nb'],
  ['--dns'],
  ['--output', 'yaml'],
  ['--forse'],
  ['surplus'],
  ['--out', ''],
])('certs %j %j: one sentence, exit code 2, nothing written', async (...args) => {
  const out = path.join(root, 'certs');
  const { exitCode, stdout, stderr } = await runProgram(['certs', '--out', out, ...args]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^machineconfig-guard: \P{Cc}+\n$/u);
  expect(existsSync(out)).toBe(false);
});

test.each([
  ['a file', 'file', 'it is a file, not a directory'],
  ['below a file', 'file/certs', 'a part of the path is a file, not a directory'],
  ['too long', 'x'.repeat(300), 'the path is too long'],
])('--out that is %s', async (_case, out, why) => {
  writeFileSync(path.join(root, 'file'), '');
  const { exitCode, stderr } = await runProgram(['certs', '--out', path.join(root, out)]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(`machineconfig-guard: ${path.join(root, out)} cannot be written to: ${why}.\n`);
  expect(await readdir(root)).toEqual(['file']);
});

// fs.mkdir(…, {recursive: true}) never returns there: Node 20.20.
test('--out where no directory can be made, not even by root', async () => {
  const { exitCode, stderr } = await runProgram(['certs', '--out', '/proc/machineconfig-guard/certs']);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    'machineconfig-guard: /proc/machineconfig-guard/certs cannot be written to: a part of the path does not exist and cannot be made.\n',
  );
});
