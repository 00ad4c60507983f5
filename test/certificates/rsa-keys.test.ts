import { createPrivateKey, createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { generateLeafKeys, generateRsaKeys, type RsaKeys } from '../../src/certificates/rsa-keys.ts';

function readBits({ publicKeyPem, privateKeyPem }: RsaKeys) {
  const key = createPublicKey(publicKeyPem);
  expect(createPublicKey(createPrivateKey(privateKeyPem)).equals(key)).toBe(true);
  return key.asymmetricKeyType === 'rsa' ? key.asymmetricKeyDetails?.modulusLength : undefined;
}

test('generates a new pair of RSA keys with the bits', async () => {
  const [first, second] = [await generateLeafKeys(), await generateLeafKeys()];
  expect(first.privateKeyPem).not.toBe(second.privateKeyPem);
  expect([readBits(first), readBits(await generateRsaKeys(3072))]).toEqual([2048, 3072]);
});
