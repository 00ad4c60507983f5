import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkAuthority } from '../../src/certificates/authority.ts';
import { checkKeyPair } from '../../src/certificates/key-pair.ts';
import { runProgram } from './run-program.ts';

let root: string;
const modeOf = (name: string): number => statSync(path.join(root, 'modes', name)).mode & 0o777;
const text = (...parts: string[]): string => readFileSync(path.join(root, ...parts), 'utf8');

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'mcg-certs-'));
});
afterAll(async () => {
  await rm(root, { recursive: true });
});

test('an authority and a leaf it signed, for the Service of the manifests', async () => {
  const out = path.join(root, 'made', 'on', 'the', 'way');
  const { exitCode, stdout, stderr } = await runProgram(['certs', '--out', out]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(readdirSync(out).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
  const read = (name: string): string => readFileSync(path.join(out, name), 'utf8');
  const authority = { certificatePem: read('ca.crt'), privateKeyPem: read('ca.key') };
  expect(checkAuthority(authority, new Date()).usable).toBe(true);
  expect(checkKeyPair({ certificatePem: read('tls.crt'), privateKeyPem: read('tls.key') }).usable).toBe(true);
  const leaf = new X509Certificate(read('tls.crt'));
  expect(leaf.verify(new X509Certificate(read('ca.crt')).publicKey)).toBe(true);
  expect(leaf.subjectAltName).toBe(
    'DNS:machineconfig-guard.machineconfig-guard.svc, DNS:machineconfig-guard.machineconfig-guard.svc.cluster.local',
  );
  // What somebody would compare, and what they do next.
  expect(stdout).toContain(leaf.fingerprint256);
  expect(stdout).toContain(`--tls-cert-file ${out}/tls.crt --tls-private-key-file ${out}/tls.key`);
  expect(stdout).toContain('caBundle');
  expect(stdout).not.toContain('PRIVATE KEY');
});

test('private keys are readable by their owner alone, whatever the umask', async () => {
  const before = process.umask(0);
  try {
    expect((await runProgram(['certs', '--out', path.join(root, 'modes')])).exitCode).toBe(0);
  } finally {
    process.umask(before);
  }
  expect(['ca.key', 'tls.key'].map(modeOf)).toEqual([0o600, 0o600]);
  expect(['ca.crt', 'tls.crt'].map(modeOf)).toEqual([0o644, 0o644]);
});

test('names, addresses and lifetimes are those asked for, and the JSON says so', async () => {
  const out = path.join(root, 'named');
  const { exitCode, stdout } = await runProgram(
    [
      'certs',
      '--out',
      out,
      '--dns',
      'Guard.example.com',
      '--dns',
      'b.example.com',
      '--dns',
      'guard.example.com',
    ].concat(['--ip', '192.0.2.10', '--ip', '2001:db8::10', '--days', '90', '--ca-days', '100', '--output', 'json']),
  );
  expect(exitCode).toBe(0);
  const report: unknown = JSON.parse(stdout);
  const authority = new X509Certificate(text('named', 'ca.crt'));
  const leaf = new X509Certificate(text('named', 'tls.crt'));
  expect(leaf.subjectAltName).toBe(
    'DNS:guard.example.com, DNS:b.example.com, IP Address:192.0.2.10, IP Address:2001:DB8:0:0:0:0:0:10',
  );
  expect(report).toEqual({
    files: {
      'ca.crt': `${out}/ca.crt`,
      'ca.key': `${out}/ca.key`,
      'tls.crt': `${out}/tls.crt`,
      'tls.key': `${out}/tls.key`,
    },
    authority: summaryOf(authority),
    leaf: {
      ...summaryOf(leaf),
      dnsNames: ['guard.example.com', 'b.example.com'],
      ipAddresses: ['192.0.2.10', '2001:db8::10'],
    },
  });
  expect(Date.parse(authority.validTo) - Date.parse(leaf.validTo)).toBe(10 * 86_400_000);
});

/** How the report describes a certificate. */
function summaryOf(certificate: X509Certificate): object {
  return {
    fingerprint256: certificate.fingerprint256,
    notBefore: new Date(certificate.validFrom).toISOString(),
    notAfter: new Date(certificate.validTo).toISOString(),
  };
}
