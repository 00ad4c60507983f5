import { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { assert, ipV6, property } from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { type Authority, createAuthority, expandIpAddress, issueLeaf } from '../../src/certificates/authority.ts';
import { readValidity } from '../../src/certificates/key-pair.ts';

const now = new Date();
const SERVICE = 'machineconfig-guard.machineconfig-guard.svc';
let authority: Authority;

beforeAll(async () => {
  authority = await createAuthority({ days: 30, now });
});

async function issue(dnsNames: string[], ipAddresses: string[] = []) {
  return await issueLeaf({ authority, dnsNames, ipAddresses, days: 7, now });
}

test('issues a v3 certificate for servers, signed with SHA-256 by the key of the authority', async () => {
  const der = new X509Certificate((await issue([SERVICE])).certificatePem).raw.toString('hex');
  expect(der).toContain('a003020102');
  expect(der.split('06092a864886f70d01010b')).toHaveLength(3);
  // Critical basicConstraints {} and keyUsage { digitalSignature, keyEncipherment }, then serverAuth.
  expect(der).toContain('0603551d130101ff04023000');
  expect(der).toContain('0603551d0f0101ff0404030205a0');
  expect(der).toContain('0603551d25040c300a06082b06010505070301');
  // The authorityKeyIdentifier is the subjectKeyIdentifier of the authority.
  const issuer = new X509Certificate(authority.certificatePem).raw.toString('hex');
  const keyIdentifier = /0603551d0e04160414(?<id>.{40})/.exec(issuer)?.groups?.['id'];
  expect(der).toContain(`0603551d23041830168014${keyIdentifier}`);
});

test('a leaf is valid for its names and addresses and no others', async () => {
  const names = [SERVICE, [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.')];
  const addresses = ['192.0.2.10', '2001:DB8::A', '::2:3:4:5:6:7:8', '::ffff:192.0.2.1'];
  const leaf = new X509Certificate((await issue(names, addresses)).certificatePem);
  expect(leaf.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true);
  expect([...names, `x-${SERVICE}`].map((name) => leaf.checkHost(name))).toEqual([...names, undefined]);
  expect([...addresses, '192.0.2.11'].map((ip) => leaf.checkIP(ip))).toEqual([...addresses, undefined]);
});

test('limits the validity of a leaf to that of its authority', async () => {
  const later = new Date(now.getTime() + 86_400_000);
  const leaf = await issueLeaf({ authority, dnsNames: [SERVICE], ipAddresses: [], days: 365, now: later });
  const [own, issuer] = [leaf, authority].map(({ certificatePem }) =>
    readValidity(new X509Certificate(certificatePem)),
  );
  expect(own?.notAfter).toEqual(issuer?.notAfter);
  expect(own?.notBefore.getTime()).toBeGreaterThan(issuer?.notBefore.getTime() ?? Number.NaN);
});

test('expands every IPv6 address to eight groups of the same address', () => {
  assert(
    property(ipV6().filter(isIPv6), (address) => {
      const expanded = expandIpAddress(address);
      expect(isIPv6(expanded)).toBe(true);
      expect(expanded.split(':')).toHaveLength(8);
      expect(expanded).not.toMatch(/::|\./);
      expect(new URL(`https://[${expanded}]`).hostname).toBe(new URL(`https://[${address}]`).hostname);
    }),
  );
});
