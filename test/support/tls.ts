import { createAuthority } from '../../src/certificates/authority.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';

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
