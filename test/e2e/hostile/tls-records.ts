import { createCipheriv, createHmac } from 'node:crypto';

/** The only cipher suite for which {@link TlsRecords} encrypts. */
export const RECORD_CIPHERS = 'TLS_AES_128_GCM_SHA256';

const APPLICATION_DATA = 23;
const HANDSHAKE = 22;
/** A KeyUpdate that asks the server to update its keys, too (RFC 8446, section 4.6.3). */
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 1]);
const TAG_BYTES = 16;

/**
 * Writes the TLS 1.3 records of a client that has just finished its handshake, of any size and content. Libraries
 * never send what an attacker can: thousands of records with one byte, or of key updates, in one packet.
 */
export class TlsRecords {
  #secret: Buffer;
  #key: Buffer = Buffer.alloc(0);
  #iv: Buffer = Buffer.alloc(0);
  #sequence = 0;

  /** @param secret the CLIENT_TRAFFIC_SECRET_0 of the event `keylog` */
  constructor(secret: Buffer) {
    this.#secret = secret;
    this.#deriveKeys();
  }

  /** Encrypts bytes in records of one byte. */
  split(bytes: Buffer): Buffer {
    return Buffer.concat(Array.from(bytes, (byte) => this.#encrypt(Buffer.from([byte]), APPLICATION_DATA)));
  }

  /** Encrypts key updates, each of which changes the keys of both sides. */
  updateKeys(count: number): Buffer {
    const records: Buffer[] = [];
    for (let index = 0; index < count; index += 1) {
      records.push(this.#encrypt(KEY_UPDATE, HANDSHAKE));
      this.#secret = expandLabel(this.#secret, 'traffic upd', 32);
      this.#deriveKeys();
    }
    return Buffer.concat(records);
  }

  #deriveKeys(): void {
    this.#key = expandLabel(this.#secret, 'key', 16);
    this.#iv = expandLabel(this.#secret, 'iv', 12);
    this.#sequence = 0;
  }

  /** RFC 8446, section 5.2. */
  #encrypt(content: Buffer, type: number): Buffer {
    const header = Buffer.from([APPLICATION_DATA, 3, 3, 0, content.length + 1 + TAG_BYTES]);
    const nonce = Buffer.from(this.#iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#sequence) >>> 0, 8);
    this.#sequence += 1;
    const cipher = createCipheriv('aes-128-gcm', this.#key, nonce).setAAD(header);
    return Buffer.concat([
      header,
      cipher.update(content),
      cipher.update(Buffer.from([type])),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
  }
}

/** HKDF-Expand-Label with SHA-256, for at most 32 bytes (RFC 8446, section 7.1). */
function expandLabel(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}
