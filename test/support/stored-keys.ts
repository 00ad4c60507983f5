import { generateRsaKeys as generate, type RsaKeys } from '../../src/certificates/sign-certificate.ts';

export * from '../../src/certificates/sign-certificate.ts';

/** Three, so that a rotation gets another key. An authority asks for 3,072 bits, which can take a second. */
const COUNT = 3;
const BITS = 2048;

/** What `src/certificates/` has asked for. */
export const requestedBits: number[] = [];
const keys: Promise<RsaKeys>[] = [];

/** In tests, `src/certificates/` imports this module instead of sign-certificate.ts: see vitest.config.ts. */
export async function generateRsaKeys(bits: number): Promise<RsaKeys> {
  const index = requestedBits.push(bits) % COUNT;
  keys[index] ??= generate(BITS);
  return await keys[index];
}
