import { randomBytes } from 'node:crypto';

/** RFC 5280 §4.1.2.2 allows up to 20 octets; 16 leave 126 random bits, far above the 64 that CAs are held to. */
const SERIAL_BYTES = 16;

/**
 * A new certificate serial number in the hex that node-forge writes into the DER as it stands.
 *
 * The first byte is forced into 0x40..0x7f. Top bit clear: DER integers are signed, and Go 1.23+ refuses a certificate with a
 * negative serial ("x509: negative serial number", since Go 1.23), which is what half of all plain random serials are. Second bit
 * set: never zero, and never a leading zero byte that minimal DER forbids.
 */
export function generateSerial(random: (size: number) => Uint8Array = randomBytes): string {
  const bytes = Uint8Array.from(random(SERIAL_BYTES));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}
