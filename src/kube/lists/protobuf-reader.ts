/**
 * Enough of the protobuf wire format (protobuf.dev/programming-guides/encoding) to walk a message of the Kubernetes API. Which number
 * means what is written in k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto; those numbers never change.
 */

/** The bytes are not the message that they should be. */
export class MalformedProtobuf extends Error {
  override readonly name = 'BrokenMessage';
}

/** What the Kubernetes API writes before every message (k8s.io/apimachinery, pkg/runtime/serializer/protobuf). */
export const PROTOBUF_MAGIC = Buffer.from('k8s\0', 'latin1');

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

/**
 * Walks over the fields of one message without copying it. After {@link next} answered true, `field` says which one this is; a text, a
 * message or a map entry lies between `from` and `to`, a number is `value`.
 */
export class ProtobufReader {
  field = 0;
  from = 0;
  to = 0;
  /** Of a number; exact up to 2^53. */
  value = 0;
  #bytes: Buffer;
  #end: number;
  #at: number;

  constructor(bytes: Buffer, from = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = end;
  }

  /** Walks over another message: the present field of `outer`. One walker for many small messages leaves no garbage. */
  enter(outer: ProtobufReader): this {
    this.#bytes = outer.#bytes;
    this.#at = outer.from;
    this.#end = outer.to;
    return this;
  }

  /**
   * Goes to the next field; false at the end of the message.
   *
   * @throws BrokenMessage
   */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (wireType === VARINT) {
      this.value = this.#varint();
      this.from = this.#at;
    } else {
      const length = wireType === LENGTH_DELIMITED ? this.#varint() : fixedLength(wireType);
      this.value = 0;
      this.from = this.#at;
      this.#at += length;
    }
    this.to = this.#at;
    if (this.#at > this.#end) throw new MalformedProtobuf('a field is longer than its message');
    return true;
  }

  /** Is the present field exactly this text? */
  is(text: Buffer): boolean {
    if (this.to - this.from !== text.length) return false;
    // By hand and from the end, where names with the same prefix differ: a call of Buffer.compare takes longer.
    for (let index = text.length - 1; index >= 0; index -= 1) {
      if (this.#bytes[this.from + index] !== text[index]) return false;
    }
    return true;
  }

  /** The present field as text. */
  text(): string {
    return this.#bytes.toString('utf8', this.from, this.to);
  }

  /** The fields of the present field, which is a message. */
  inside(): ProtobufReader {
    return new ProtobufReader(this.#bytes, this.from, this.to);
  }

  #varint(): number {
    // Nearly all of them have one byte or two.
    const byte = this.#bytes[this.#at] ?? 0;
    if (byte < 0x80 && this.#at < this.#end) {
      this.#at += 1;
      return byte;
    }
    const second = this.#bytes[this.#at + 1] ?? 0;
    if (second < 0x80 && this.#at + 1 < this.#end) {
      this.#at += 2;
      return (byte & 0x7f) + 128 * second;
    }
    const { value, end } = readVarint(this.#bytes, this.#at, this.#end);
    if (end === undefined) throw new MalformedProtobuf('a number is cut off');
    this.#at = end;
    return value;
  }
}

/**
 * The number that begins at a place; `end` is undefined where its last byte is not there yet.
 *
 * @throws BrokenMessage where no number can be so long
 */
export function readVarint(bytes: Buffer, at: number, end: number): { readonly value: number; readonly end?: number } {
  let value = 0;
  let scale = 1;
  for (let next = at; next < end; next += 1) {
    if (next - at === 10) throw new MalformedProtobuf('a number does not end');
    const byte = bytes[next] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: next + 1 };
    scale *= 128;
  }
  return { value };
}

function fixedLength(wireType: number): number {
  if (wireType === FIXED64) return 8;
  if (wireType === FIXED32) return 4;
  throw new MalformedProtobuf('a field has a type that is not in use');
}
