import { X509Certificate } from 'node:crypto';
import { assert, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { generateSerial } from '../../src/certificates/sign-certificate.ts';

/** X.690 §8.3.2: a minimal positive INTEGER starts with neither a set bit nor nine clear ones. */
function expectPositiveMinimal(serial: string) {
  const bytes = Buffer.from(serial, 'hex');
  expect(bytes).toHaveLength(16);
  expect(bytes.readUInt8(0)).toBeLessThan(0x80);
  expect(bytes.readUInt16BE(0)).toBeGreaterThanOrEqual(0x0080);
}

test('generates different, positive and minimal serials from any random bytes', () => {
  expect(generateSerial()).not.toBe(generateSerial());
  const examples: [Uint8Array][] = [0, 0xff, 0x80].map((byte) => [new Uint8Array(16).fill(byte)]);
  const random = uint8Array({ minLength: 16, maxLength: 16 });
  assert(
    property(random, (bytes) => expectPositiveMinimal(generateSerial(() => bytes))),
    { examples },
  );
});

test('node-forge writes the serial into the certificate without a change', async () => {
  const { certificatePem } = await createAuthority({ days: 1, now: new Date() });
  const { raw, serialNumber } = new X509Certificate(certificatePem);
  expectPositiveMinimal(serialNumber);
  expect(raw.toString('hex')).toContain(`0210${serialNumber.toLowerCase()}`);
});
