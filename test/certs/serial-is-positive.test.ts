import { assert, property, uint8Array } from 'fast-check';
import forge from 'node-forge';
import { expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { generateSerial } from '../../src/certificates/serial.ts';
import { readCertificate } from './der.ts';

/** X.690 §8.3.2: the first nine bits of an INTEGER are neither all zero nor all one; positive: the first bit is zero. */
function expectPositiveMinimal(bytes: Buffer): void {
  expect(bytes.length).toBe(16);
  expect(bytes.readUInt8(0)).toBeLessThan(0x80);
  expect(bytes.readUInt16BE(0)).toBeGreaterThanOrEqual(0x0080);
  expect(bytes.some((byte) => byte !== 0)).toBe(true);
}

test('whatever the random source gives, the serial is positive, not zero and minimal', () => {
  assert(
    property(uint8Array({ minLength: 16, maxLength: 16 }), (random) => {
      expectPositiveMinimal(
        Buffer.from(
          generateSerial(() => random),
          'hex',
        ),
      );
    }),
    {
      numRuns: 5_000,
      examples: [[new Uint8Array(16)], [new Uint8Array(16).fill(0xff)], [Uint8Array.of(0x80, ...Array(15).fill(0))]],
    },
  );
});

test('ten thousand real draws are all different and all well-formed', () => {
  const drawn = Array.from({ length: 10_000 }, () => generateSerial());
  for (const serial of drawn) expectPositiveMinimal(Buffer.from(serial, 'hex'));
  expect(new Set(drawn).size).toBe(drawn.length);
});

test('node-forge writes it into the certificate as it stands', async () => {
  const { certificatePem } = await createAuthority({ days: 1, now: new Date() });
  expectPositiveMinimal(readCertificate(certificatePem).serial);
  expect(readCertificate(certificatePem).serial.toString('hex')).toBe(
    forge.pki.certificateFromPem(certificatePem).serialNumber,
  );
});
