import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

let out: string;
const file = (name: string): string => path.join(out, name);

beforeEach(async () => {
  out = await mkdtemp(path.join(tmpdir(), 'mcg-certs-'));
});
afterEach(async () => {
  await rm(out, { recursive: true });
});

test.each(['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])('%s that is there stays, and is named', async (name) => {
  writeFileSync(file(name), 'mine');
  const { exitCode, stdout, stderr } = await runProgram(['certs', '--out', out]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toBe(
    `machineconfig-guard: ${file(name)} is there already; use --force to replace all of ca.crt ca.key tls.crt tls.key, or another --out.\n`,
  );
  expect(readdirSync(out)).toEqual([name]);
  expect(readFileSync(file(name), 'utf8')).toBe('mine');
});

test('--force replaces all four, and a key that was open to all is not', async () => {
  for (const name of ['ca.crt', 'ca.key', 'tls.crt', 'tls.key']) {
    writeFileSync(file(name), 'old');
    chmodSync(file(name), 0o666);
  }
  const inode = statSync(file('tls.key')).ino;
  const { exitCode } = await runProgram(['certs', '--out', out, '--force']);
  expect(exitCode).toBe(0);
  expect(readdirSync(out).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
  for (const name of ['ca.key', 'tls.key']) {
    expect(readFileSync(file(name), 'utf8')).toContain('PRIVATE KEY');
    expect(statSync(file(name)).mode & 0o777).toBe(0o600);
  }
  // A new file, never the old one filled: whoever had that one open does not get to see the new key.
  expect(statSync(file('tls.key')).ino).not.toBe(inode);
});

test('--force replaces a link and leaves what it points to alone', async () => {
  const elsewhere = path.join(out, 'elsewhere');
  writeFileSync(elsewhere, 'precious');
  symlinkSync(elsewhere, file('ca.key'));
  expect((await runProgram(['certs', '--out', out])).exitCode).toBe(2);
  expect((await runProgram(['certs', '--out', out, '--force'])).exitCode).toBe(0);
  expect(readFileSync(elsewhere, 'utf8')).toBe('precious');
  expect(readFileSync(file('ca.key'), 'utf8')).toContain('PRIVATE KEY');
});

test('a directory in the way is named before anything is replaced', async () => {
  mkdirSync(file('tls.key'));
  writeFileSync(file('ca.crt'), 'mine');
  const { exitCode, stderr } = await runProgram(['certs', '--out', out, '--force']);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    `machineconfig-guard: ${file('tls.key')} is a directory where a file is to be written; remove it.\n`,
  );
  expect(readFileSync(file('ca.crt'), 'utf8')).toBe('mine');
  expect(existsSync(file('ca.key'))).toBe(false);
});
