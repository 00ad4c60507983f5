import { X509Certificate } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import { needsRenewal } from '../../src/certificates/renewal.ts';

const issued = new Date('2026-11-20T12:00:00Z');
let leaf: X509Certificate;

beforeAll(async () => {
  const authority = await createAuthority({ days: 3650, now: issued });
  // 26 h before + 7 days: 194 h, two thirds of which are 129 h 20 min after notBefore, 2026-11-19T10:00Z.
  const pair = await issueLeaf({ authority, dnsNames: ['guard'], ipAddresses: [], days: 7, now: issued });
  leaf = new X509Certificate(pair.certificatePem);
});

test.each([
  ['2026-11-19T09:59:59Z', true, 'it is not valid before 2026-11-19T10:00:00.000Z'],
  ['2026-11-20T12:00:00Z', false, 'two thirds of its life will have passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-24T19:19:59Z', false, 'two thirds of its life will have passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-24T19:20:00Z', true, 'two thirds of its life passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-27T12:00:00Z', true, 'two thirds of its life passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-27T12:00:01Z', true, 'it expired at 2026-11-27T12:00:00.000Z'],
])('at %s: isDue %s, since %s', (now, isDue, reason) => {
  expect(needsRenewal(leaf, new Date(now))).toEqual({ isDue, reason, at: new Date('2026-11-24T19:20:00Z') });
});

test('a leaf of a single day is not isDue when it is new, although it was back-dated by more than that', async () => {
  const authority = await createAuthority({ days: 1, now: issued });
  const pair = await issueLeaf({ authority, dnsNames: ['guard'], ipAddresses: [], days: 1, now: issued });
  expect(needsRenewal(new X509Certificate(pair.certificatePem), issued).isDue).toBe(false);
});
