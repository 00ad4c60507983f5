import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseAuthority } from '../../../src/certificates/authority.ts';
import { parseKeyPair } from '../../../src/certificates/key-pair.ts';
import { usageError, runProgram } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

const FILES = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'];

test('writes an authority and a certificate for the Service, and quotes the command that uses them', async () => {
  const out = path.join(createTemporaryDirectory(), 'new', 'my certs');
  const { exitCode, stdout, stderr } = await runProgram(['certs', '--out', out]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(FILES.map((name) => statSync(path.join(out, name)).mode & 0o077)).toEqual([0o044, 0, 0o044, 0]);
  const read = (name: string): string => readFileSync(path.join(out, name), 'utf8');
  const readPair = (name: string) => ({ certificatePem: read(`${name}.crt`), privateKeyPem: read(`${name}.key`) });
  parseAuthority(readPair('ca'), new Date());
  parseKeyPair(readPair('tls'));
  const leaf = new X509Certificate(read('tls.crt'));
  expect(leaf.verify(new X509Certificate(read('ca.crt')).publicKey)).toBe(true);
  const service = 'machineconfig-guard.machineconfig-guard.svc';
  expect(leaf.subjectAltName).toBe(`DNS:${service}, DNS:${service}.cluster.local`);
  for (const name of FILES) expect(stdout.replaceAll('\n', ' ')).toContain(`${out}/${name}`);
  const flags = `--tls-cert-file '${out}/tls.crt' --tls-private-key-file '${out}/tls.key'`;
  expect(stdout).toContain(`  machineconfig-guard serve ${flags}\n`);
  expect(stdout).not.toContain('PRIVATE KEY');
});

test('uses the values of the flags', async () => {
  const out = createTemporaryDirectory();
  const dns = '--dns Guard.example.com --dns 3com.example --dns guard.example.com';
  expect((await runProgram(['certs', '--out', out, ...dns.split(' ')])).exitCode).toBe(0);
  const { subjectAltName, validTo } = new X509Certificate(readFileSync(path.join(out, 'tls.crt')));
  expect(subjectAltName).toBe('DNS:guard.example.com, DNS:3com.example');
  expect(Math.round((Date.parse(validTo) - Date.now()) / 86_400_000)).toBe(365);
});

const NO_NAMES = ['', '10.0.0.1', '127.0.0.0x1', '*.example.com', 'bücher.example', 'a\u001B[31m\nb'];
const NO_VALUES = { '--dns': NO_NAMES, '--out': [''] };

test.each(Object.entries(NO_VALUES).flatMap(([flag, values]) => values.map((value) => [flag, value])))(
  'with %j %j, exits with 2 and writes nothing',
  async (...args) => {
    const out = path.join(createTemporaryDirectory(), 'unused');
    expect(await runProgram(['certs', '--out', out, ...args])).toEqual(usageError());
    expect(existsSync(out)).toBe(false);
  },
);
