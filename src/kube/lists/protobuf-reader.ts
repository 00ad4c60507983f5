import { MalformedList } from '../errors.ts';

/**
 * The part of the protobuf wire format (protobuf.dev/programming-guides/encoding) that the Kubernetes API
 * uses.
 */

/** Precedes every message of the Kubernetes API (k8s.io/apimachinery, pkg/runtime/serializer/protobuf). */
export const PROTOBUF_MAGIC = Buffer.from('k8s\0', 'latin1');

const VARINT = 0;
const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
const FIXED32 = 5;
/** 64 bits, seven in each byte. */
const MAX_VARINT_BYTES = 10;

/**
 * Reads the fields of one message without copying it. After {@link next}, `field` is the field number. A text
 * or message lies between `start` and `end`, and a number is `value`.
 */
export class ProtobufReader {
  field = 0;
  start = 0;
  end = 0;
  /** Exact up to 2^53. */
  value = 0;
  #bytes: Buffer;
  #messageEnd: number;
  #offset: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#offset = start;
    this.#messageEnd = end;
  }

  /** Moves to the message in the current field of another reader. */
  enter(outer: ProtobufReader): this {
    this.#bytes = outer.#bytes;
    this.#offset = outer.start;
    this.#messageEnd = outer.end;
    return this;
  }

  /**
   * Moves to the next field. Returns false at the end of the message.
   *
   * @throws MalformedList
   */
  next(): boolean {
    if (this.#offset === this.#messageEnd) return false;
    const tag = this.#nextVarint();
    this.field = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (wireType === VARINT) {
      this.value = this.#nextVarint();
      this.start = this.#offset;
    } else {
      const length = wireType === LENGTH_DELIMITED ? this.#nextVarint() : fixedLength(wireType);
      this.value = 0;
      this.start = this.#offset;
      this.#offset += length;
    }
    this.end = this.#offset;
    if (this.#offset > this.#messageEnd) throw new MalformedList('a field is longer than its message');
    return true;
  }

  text(): string {
    return this.#bytes.toString('utf8', this.start, this.end);
  }

  /** Reads the texts of these fields to the end of the message. An absent text is empty. */
  texts<Name extends string>(numbers: Readonly<Record<Name, number>>): Record<Name, string> {
    const names = Object.keys(numbers) as Name[];
    const texts = Object.fromEntries(names.map((name) => [name, ''])) as Record<Name, string>;
    while (this.next()) for (const name of names) if (this.field === numbers[name]) texts[name] = this.text();
    return texts;
  }

  /** A new reader for the message in the current field. */
  message(): ProtobufReader {
    return new ProtobufReader(this.#bytes, this.start, this.end);
  }

  #nextVarint(): number {
    // Fast path: almost all numbers have one byte or two.
    const first = this.#bytes[this.#offset] ?? 0;
    if (first < 0x80 && this.#offset < this.#messageEnd) {
      this.#offset += 1;
      return first;
    }
    const second = this.#bytes[this.#offset + 1] ?? 0;
    if (second < 0x80 && this.#offset + 1 < this.#messageEnd) {
      this.#offset += 2;
      return (first & 0x7f) + 128 * second;
    }
    const { value, end } = readVarint(this.#bytes, this.#offset, this.#messageEnd);
    this.#offset = end;
    return value;
  }
}

/**
 * Reads the number that starts at `start`, and returns where it ends.
 *
 * @throws MalformedList if it does not end before `limit`, or is too long
 */
export function readVarint(
  bytes: Buffer,
  start: number,
  limit: number,
): { readonly value: number; readonly end: number } {
  let value = 0;
  let scale = 1;
  for (let offset = start; offset < Math.min(limit, start + MAX_VARINT_BYTES); offset += 1) {
    const byte = bytes[offset] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: offset + 1 };
    scale *= 128;
  }
  throw new MalformedList('a number is cut off');
}

function fixedLength(wireType: number): number {
  if (wireType === FIXED64) return 8;
  if (wireType === FIXED32) return 4;
  throw new MalformedList('a field has a type that is not in use');
}
