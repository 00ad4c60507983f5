import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RsaKeys } from '../../src/certificates/sign-certificate.ts';

export * from '../../src/certificates/sign-certificate.ts';

/** Three of 2,048 bits for tests only, so that a rotation gets another key. To generate one takes 0.2 s. */
const KEYS = readFileSync(new URL('rsa-keys.pem', import.meta.url), 'utf8').split(/(?<=END PRIVATE KEY-----\n)/);

/** What `src/certificates/` has asked for. */
export const requestedBits: number[] = [];

/** In tests, `src/certificates/` imports this module instead of sign-certificate.ts: see vitest.config.ts. */
export async function generateRsaKeys(bits: number): Promise<RsaKeys> {
  const privateKeyPem = KEYS[requestedBits.push(bits) % KEYS.length] ?? '';
  const publicKeyPem = String(createPublicKey(privateKeyPem).export({ type: 'spki', format: 'pem' }));
  return await Promise.resolve({ publicKeyPem, privateKeyPem });
}
