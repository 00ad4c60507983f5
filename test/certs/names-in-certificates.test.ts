import { isIP, isIPv6 } from 'node:net';
import { assert, ipV6, property } from 'fast-check';
import { expect, test } from 'vitest';
import { expandIpAddress, findDnsNameProblem, findIpAddressProblem } from '../../src/certificates/names.ts';

test.each([
  'guard',
  'localhost',
  'guard.machineconfig-guard.svc',
  'xn--bcher-kva.example',
  '3com.example',
  'A.Example',
  '0-0.a',
])('the DNS name %j is taken', (name) => expect(findDnsNameProblem(name)).toBeUndefined());

test.each([
  ['', 'is empty'],
  ['10.0.0.1', 'is an IP address'],
  ['::1', 'is an IP address'],
  ['10.0.0.300', 'ends in a number'],
  ['127.0.0.0x1', 'ends in a number'],
  ['*.example.com', 'has a wildcard'],
  ['bücher.example', 'not letters, digits and inner hyphens'],
  ['under_score.example', 'not letters, digits and inner hyphens'],
  ['-a.example', 'not letters, digits and inner hyphens'],
  ['a-.example', 'not letters, digits and inner hyphens'],
  ['a b', 'not letters, digits and inner hyphens'],
  ['a\0b', 'not letters, digits and inner hyphens'],
  ['a.example\n', 'not letters, digits and inner hyphens'],
  ['$(reboot)', 'not letters, digits and inner hyphens'],
  ['a..b', 'empty part'],
  ['.a', 'empty part'],
  ['a.', 'empty part'],
  [`${'a'.repeat(64)}.b`, 'longer than 63'],
  [Array(128).fill('a').join('.'), 'longer than 253'],
])('the DNS name %j is refused', (name, why) => expect(findDnsNameProblem(name)).toContain(why));

test.each(['10.0.0.1', '::', '2001:db8::1', '::ffff:10.0.0.1', 'FE80::1'])('the address %j is taken', (address) =>
  expect(findIpAddressProblem(address)).toBeUndefined(),
);

test.each([
  ['', 'is not an IPv4 or IPv6 address'],
  ['1.2.3', 'is not an IPv4 or IPv6 address'],
  ['010.0.0.1', 'is not an IPv4 or IPv6 address'],
  ['1.2.3.4/32', 'is not an IPv4 or IPv6 address'],
  ['[::1]', 'is not an IPv4 or IPv6 address'],
  ['1::2::3', 'is not an IPv4 or IPv6 address'],
  ['guard', 'is not an IPv4 or IPv6 address'],
  ['fe80::1%eth0', 'has a zone'],
])('the address %j is refused', (address, why) => expect(findIpAddressProblem(address)).toContain(why));

test('an IPv6 address spelled out has eight groups and is the same address', () => {
  assert(
    property(
      ipV6().filter((address) => isIPv6(address)),
      (address) => {
        const long = expandIpAddress(address);
        expect(isIP(long)).toBe(6);
        expect(long.split(':')).toHaveLength(8);
        expect(long).not.toMatch(/::|\./);
        expect(new URL(`https://[${long}]`).hostname).toBe(new URL(`https://[${address}]`).hostname);
      },
    ),
  );
});
