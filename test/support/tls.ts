import { createAuthority } from '../../src/certificates/authority.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import type { ServingCertificate } from '../../src/certificates/serving-certificate.ts';

/** An authority and leaves for this machine. */
export interface TestTls {
  readonly ca: string;
  readonly leaf: () => Promise<KeyPair>;
}

/** Created once per test file: a key of 3,072 bits takes up to a second. */
let tls: Promise<TestTls> | undefined;

export async function testTls() {
  return await (tls ??= createTestTls());
}

async function createTestTls() {
  const now = new Date();
  const authority = await createAuthority({ days: 1, now });
  return {
    ca: authority.certificatePem,
    leaf: async () => await issueLeaf({ authority, dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], days: 1, now }),
  };
}

export function exchangeable(first: KeyPair): ServingCertificate & { exchange: (next: KeyPair) => void } {
  let pair = first;
  const listeners: (() => void)[] = [];
  return {
    current: () => pair,
    onChange: (listener) => void listeners.push(listener),
    expiries: () => [],
    exchange: (next) => {
      pair = next;
      for (const listener of listeners) listener();
    },
  };
}
