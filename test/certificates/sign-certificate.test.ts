import { X509Certificate } from 'node:crypto';
import { property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { generateSerial } from '../../src/certificates/sign-certificate.ts';
import { checkProperty } from '../support/check-property.ts';

/** X.690 §8.3.2: a minimal positive INTEGER starts with neither a set bit nor nine clear ones. */
function expectPositiveMinimal(serial: string) {
  const bytes = Buffer.from(serial, 'hex');
  expect(bytes).toHaveLength(16);
  expect(bytes.readUInt8(0)).toBeLessThan(0x80);
  expect(bytes.readUInt16BE(0)).toBeGreaterThanOrEqual(0x0080);
}

test('writes a serial that is random, positive and minimal into the certificate', async () => {
  expect(generateSerial()).not.toBe(generateSerial());
  const random = uint8Array({ minLength: 16, maxLength: 16 });
  const isMinimal = property(random, (bytes) => expectPositiveMinimal(generateSerial(() => bytes)));
  const examples = [0, 0xff, 0x80].map((byte): [Uint8Array] => [new Uint8Array(16).fill(byte)]);
  checkProperty(isMinimal, 100, examples);
  const { certificatePem } = await createAuthority({ days: 1, now: new Date() });
  const { raw, serialNumber } = new X509Certificate(certificatePem);
  expectPositiveMinimal(serialNumber);
  expect(raw.toString('hex')).toContain(`0210${serialNumber.toLowerCase()}`);
});
