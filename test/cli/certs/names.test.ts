import { expect, test } from 'vitest';
import { findDnsNameProblem, findIpAddressProblem } from '../../../src/cli/certs/names.ts';

const OTHER_CHARACTERS = 'not letters, digits and inner hyphens';

test.each([
  ['guard.machineconfig-guard.svc', undefined],
  ['3com.example', undefined],
  ['', 'is empty'],
  ['10.0.0.1', 'is an IP address'],
  ['10.0.0.300', 'ends in a number'],
  ['127.0.0.0x1', 'ends in a number'],
  ['*.example.com', 'has a wildcard'],
  ['bücher.example', OTHER_CHARACTERS],
  ['-a.example', OTHER_CHARACTERS],
  ['a-.b', OTHER_CHARACTERS],
  ['a.example\n', OTHER_CHARACTERS],
  ['a..b', 'empty part'],
  ['a.', 'empty part'],
  [`${'a'.repeat(64)}.b`, 'longer than 63'],
  [Array(128).fill('a').join('.'), 'longer than 253'],
])('the problem of the DNS name %j is %j', (name, problem) => {
  if (problem === undefined) expect(findDnsNameProblem(name)).toBeUndefined();
  else expect(findDnsNameProblem(name)).toContain(problem);
});

test.each([
  ['10.0.0.1', undefined],
  ['2001:db8::1', undefined],
  ['010.0.0.1', 'is not an IPv4 or IPv6 address'],
  ['fe80::1%eth0', 'has a zone; a certificate holds the bare address'],
])('the problem of the IP address %j is %j', (address, problem) => {
  expect(findIpAddressProblem(address)).toBe(problem);
});
