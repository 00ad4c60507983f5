import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

/** An RSA key pair without a certificate, PEM; the private key PKCS#8. */
export interface RsaKeys {
  readonly publicKeyPem: string;
  readonly privateKeyPem: string;
}

/** Enough until 2030 (NIST SP 800-57), half the handshake cost of 3072, and a leaf is replaced long before. */
const LEAF_KEY_BITS = 2048;

const generate = promisify(generateKeyPair);

/** Where the keys of one leaf after another come from. */
export type LeafKeyGenerator = () => Promise<RsaKeys>;

/** New ones each time. */
export const generateLeafKeys: LeafKeyGenerator = async () => await generateRsaKeys(LEAF_KEY_BITS);

/** New ones each time, the first of which are begun at once: they take as long as chance will have it, and no turn of the event loop. */
export function pregenerateLeafKeys(): LeafKeyGenerator {
  let begun: Promise<RsaKeys> | undefined = generateLeafKeys();
  return async () => {
    const keys = begun ?? generateLeafKeys();
    begun = undefined;
    return await keys;
  };
}

/** A new RSA key pair from OpenSSL, beside the event loop: 0.05 to 0.3 s, where node-forge's own JavaScript may need 30 s. */
export async function generateRsaKeys(bits: number): Promise<RsaKeys> {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { publicKeyPem: publicKey, privateKeyPem: privateKey };
}
