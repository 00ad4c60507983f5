import { X509Certificate } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { createAuthority, issueLeaf } from '../../src/certificates/authority.ts';
import { findRenewalReason } from '../../src/certificates/key-pair.ts';

const issuedAt = new Date('2026-11-20T12:00:00Z');
let leaf: X509Certificate;

beforeAll(async () => {
  const authority = await createAuthority({ days: 3650, now: issuedAt });
  // 26 h before and 7 days after: 194 h. Two thirds are 129 h 20 min, from 2026-11-19T10:00Z.
  const pair = await issueLeaf({ authority, dnsNames: ['guard'], ipAddresses: [], days: 7, now: issuedAt });
  leaf = new X509Certificate(pair.certificatePem);
});

test.each([
  ['2026-11-19T09:59:59Z', 'it is not valid before 2026-11-19T10:00:00.000Z'],
  ['2026-11-24T19:19:59Z', undefined],
  ['2026-11-24T19:20:00Z', 'two thirds of its life passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-27T12:00:00Z', 'two thirds of its life passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-27T12:00:01Z', 'it expired at 2026-11-27T12:00:00.000Z'],
])('at %s the renewal reason is %j', (now, reason) => {
  expect(findRenewalReason(leaf, new Date(now))).toBe(reason);
});
