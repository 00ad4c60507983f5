import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

/** PEM. The private key is PKCS#8. */
export interface RsaKeys {
  readonly publicKeyPem: string;
  readonly privateKeyPem: string;
}

export type KeyGenerator = () => Promise<RsaKeys>;

/** Enough until 2030 (NIST SP 800-57), and half the handshake cost of 3072. */
const LEAF_KEY_BITS = 2048;

const generate = promisify(generateKeyPair);

export const generateLeafKeys: KeyGenerator = async () => await generateRsaKeys(LEAF_KEY_BITS);

/** Starts to generate the keys of the first leaf now. */
export function pregenerateLeafKeys(): KeyGenerator {
  let first: Promise<RsaKeys> | undefined = generateLeafKeys();
  return async () => {
    const keys = first ?? generateLeafKeys();
    first = undefined;
    return await keys;
  };
}

/** OpenSSL takes 0.05 to 0.3 s in another thread. node-forge may need 30 s. */
export async function generateRsaKeys(bits: number): Promise<RsaKeys> {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { publicKeyPem: publicKey, privateKeyPem: privateKey };
}
