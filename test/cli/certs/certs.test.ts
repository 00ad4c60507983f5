import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkAuthority } from '../../../src/certificates/authority.ts';
import { checkKeyPair } from '../../../src/certificates/key-pair.ts';
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
  expect(checkAuthority(readPair('ca'), new Date()).usable).toBe(true);
  expect(checkKeyPair(readPair('tls')).usable).toBe(true);
  const leaf = new X509Certificate(read('tls.crt'));
  expect(leaf.verify(new X509Certificate(read('ca.crt')).publicKey)).toBe(true);
  const service = 'machineconfig-guard.machineconfig-guard.svc';
  expect(leaf.subjectAltName).toBe(`DNS:${service}, DNS:${service}.cluster.local`);
  for (const name of FILES) expect(stdout.replaceAll('\n', ' ')).toContain(`${out}/${name}`);
  expect(stdout.replaceAll('\n', ' ')).toContain(`for ${service} and ${service}.cluster.local until 20`);
  const flags = `--tls-cert-file '${out}/tls.crt' --tls-private-key-file '${out}/tls.key'`;
  expect(stdout).toContain(`  machineconfig-guard serve ${flags}\n`);
  expect(stdout).not.toContain('PRIVATE KEY');
});

test('uses the values of the flags, and prints exactly the documented JSON keys', async () => {
  const out = createTemporaryDirectory();
  const dns = '--dns Guard.example.com --dns b.example.com --dns guard.example.com';
  const flags = `${dns} --ip 192.0.2.10 --ip 2001:db8::10 --days 90 --ca-days 100 --output json`;
  const { exitCode, stdout } = await runProgram(['certs', '--out', out, ...flags.split(' ')]);
  expect(exitCode).toBe(0);
  const summarize = (name: string) => {
    const { fingerprint256, validFrom, validTo } = new X509Certificate(readFileSync(path.join(out, name)));
    const [notBefore, notAfter] = [validFrom, validTo].map((time) => new Date(time).toISOString());
    return { fingerprint256, notBefore, notAfter };
  };
  const names = { dnsNames: ['guard.example.com', 'b.example.com'], ipAddresses: ['192.0.2.10', '2001:db8::10'] };
  const [authority, leaf] = [summarize('ca.crt'), summarize('tls.crt')];
  expect(Date.parse(authority.notAfter ?? '') - Date.parse(leaf.notAfter ?? '')).toBe(10 * 86_400_000);
  const files = Object.fromEntries(FILES.map((name) => [name, `${out}/${name}`]));
  expect(JSON.parse(stdout)).toEqual({ files, authority, leaf: { ...leaf, ...names } });
});

test.each([
  ['--days', '0'],
  ['--days', '3651'],
  ['--days', '20', '--ca-days', '10'],
  ['--ip', '1.2.3'],
  ['--dns', 'a\u001B[31m\nb'],
  ['--out', ''],
])('with %j %j, exits with 2 and writes nothing', async (...args) => {
  const out = path.join(createTemporaryDirectory(), 'unused');
  expect(await runProgram(['certs', '--out', out, ...args])).toEqual(usageError());
  expect(existsSync(out)).toBe(false);
});
