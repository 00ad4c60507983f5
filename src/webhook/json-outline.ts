/** The bytes are invalid or ambiguous JSON. The message continues "the request body". */
export class MalformedJson extends Error {
  override readonly name = 'MalformedJson';
}

/** A wanted member: an object, or the maximum length of a value. A longer string is cut. */
type Wanted = Outline | number;

/** The wanted members of an object. */
export class Outline {
  readonly maxBytes: number;
  readonly #members: readonly { readonly key: string; readonly bytes: Buffer; readonly wanted: Wanted }[];

  /** @param maxBytes the limit of all keys and values of the object, without quotes and escapes */
  constructor(members: Readonly<Record<string, Wanted>>, maxBytes: number = Number.POSITIVE_INFINITY) {
    this.maxBytes = maxBytes;
    this.#members = Object.entries(members).map(([key, wanted]) => ({ key, bytes: Buffer.from(key), wanted }));
  }

  /** Finds a member by the bytes of its key. A key with escapes is another key. */
  find(
    bytes: Buffer,
    start: number,
    end: number,
  ): { readonly key: string; readonly wanted: Wanted } | undefined {
    for (const member of this.#members) {
      if (member.bytes.length === end - start && member.bytes.compare(bytes, start, end) === 0) return member;
    }
    return undefined;
  }
}

/** The limit of the API server's own parser (sigs.k8s.io/json, internal/golang/encoding/json/scanner.go). */
const MAX_DEPTH = 10_000;
/** A slice of the slowest JSON takes about 3 ms. */
const SLICE_BYTES = 64 * 1024;
/** The longest spelling of one character: `\\u` and four digits. */
const MAX_CHARACTER_BYTES = 6;
/** The API server sends no space at all. */
const MAX_SPACE_BYTES = 64 * 1024;
const MAX_DIGITS = 1_024;
/** No wanted number is longer. */
const MAX_SCALAR_BYTES = 32;
/** The bytes of the quotes of a key and a value. */
const QUOTE_BYTES = 4;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const TAB = 0x09;
const LETTER_U = 0x75;
const LETTER_E = 0x65;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_CASE_BIT = 0x20;

const KEYWORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));
/** Strings up to about this length are read byte by byte. */
const SHORT_STRING = 48;
const ESCAPES = new Set(Buffer.from('"\\/bfnrtu'));

type ExpectedToken = 'value' | 'value or end' | 'key' | 'key or end' | 'comma or end';

/**
 * Reads the wanted members of a JSON object in UTF-8. It only validates the rest, so a hostile body costs no
 * more than an ordinary one (docs/adr/0008). It rejects a wanted member that occurs twice, because parsers
 * disagree on which one counts.
 *
 * Yields after each slice, so that other work can go first.
 *
 * @returns an object without prototype, or undefined if the JSON is not an object. An array, an object in place
 *   of a value, and a value in place of an object become null
 * @throws MalformedJson
 */
export function* parseOutline(
  bytes: Buffer,
  outline: Outline,
): Generator<undefined, Readonly<Record<string, unknown>> | undefined> {
  const reader = new OutlineReader(bytes);
  const value = yield* reader.readValue(outline);
  reader.expectEnd();
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

class OutlineReader {
  readonly #bytes: Buffer;
  /** The open brackets of a skipped value. */
  readonly #brackets: number[] = [];
  #position = 0;
  #sliceEnd = SLICE_BYTES;
  /** Results of the last searches, for {@link #skipStringPart}. */
  #nextQuote = -1;
  #nextBackslash = -1;
  /** The bytes that the escapes so far have added to their characters, at least. */
  #escapeBytes = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  *readValue(wanted: Wanted): Generator<undefined, unknown> {
    this.#skipSpace();
    const start = this.#position;
    const first = this.#bytes[start];
    if (typeof wanted !== 'number' && first === OPEN_OBJECT) return yield* this.#readObject(wanted);
    yield* this.#skipValue();
    if (typeof wanted !== 'number' || first === OPEN_OBJECT || first === OPEN_ARRAY) return null;
    return this.#parseFrom(start, wanted);
  }

  expectEnd(): void {
    this.#skipSpace();
    if (this.#position < this.#bytes.length) throw notJsonError();
  }

  *#readObject(outline: Outline): Generator<undefined, Record<string, unknown>> {
    const members = Object.create(null) as Record<string, unknown>;
    let memberBytes = 0;
    this.#position += 1;
    this.#skipSpace();
    if (this.#consume(CLOSE_OBJECT)) return members;
    for (;;) {
      if (this.#endSlice()) yield;
      this.#skipSpace();
      const keyStart = this.#position;
      const escapeBytes = this.#escapeBytes;
      this.#openString();
      while (!this.#skipStringPart()) yield;
      const keyEnd = this.#position;
      if (this.#escapeBytes > escapeBytes) throw new MalformedJson('has a key with escapes');
      this.#skipColon();
      this.#skipSpace();
      const valueStart = this.#position;
      const member = outline.find(this.#bytes, keyStart + 1, keyEnd - 1);
      if (member === undefined && this.#bytes[valueStart] === QUOTE) {
        // Spares a generator for each annotation.
        this.#openString();
        while (!this.#skipStringPart()) yield;
      } else if (member === undefined) {
        yield* this.#skipValue();
      } else if (Object.hasOwn(members, member.key)) {
        throw new MalformedJson(`has "${member.key}" twice in one object`);
      } else members[member.key] = yield* this.readValue(member.wanted);
      memberBytes += keyEnd - keyStart + this.#position - valueStart - QUOTE_BYTES;
      memberBytes -= this.#escapeBytes - escapeBytes;
      if (memberBytes > outline.maxBytes) {
        throw new MalformedJson('has more annotations than an object can have');
      }
      this.#skipSpace();
      if (this.#consume(CLOSE_OBJECT)) return members;
      if (!this.#consume(COMMA)) throw notJsonError();
    }
  }

  /** Does not recurse, because a client can nest values deeply. */
  *#skipValue(): Generator<undefined, void> {
    const brackets = this.#brackets;
    let expected: ExpectedToken = 'value';
    do {
      if (this.#endSlice()) yield;
      this.#skipSpace();
      const isInObject = brackets.at(-1) === OPEN_OBJECT;
      if (
        expected !== 'key' &&
        expected !== 'value' &&
        this.#consume(isInObject ? CLOSE_OBJECT : CLOSE_ARRAY)
      ) {
        brackets.pop();
        expected = 'comma or end';
      } else if (expected === 'comma or end') {
        if (!this.#consume(COMMA)) throw notJsonError();
        expected = isInObject ? 'key' : 'value';
      } else if (expected === 'key' || expected === 'key or end') {
        this.#openString();
        while (!this.#skipStringPart()) yield;
        this.#skipColon();
        expected = 'value';
      } else if (this.#bytes[this.#position] === QUOTE) {
        this.#openString();
        while (!this.#skipStringPart()) yield;
        expected = 'comma or end';
      } else {
        expected = this.#skipScalarOrOpen();
      }
    } while (brackets.length > 0);
  }

  #skipScalarOrOpen(): ExpectedToken {
    const byte = this.#bytes[this.#position];
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (this.#brackets.length === MAX_DEPTH)
        throw new MalformedJson(`is nested deeper than ${MAX_DEPTH} levels`);
      this.#brackets.push(byte);
      this.#position += 1;
      return byte === OPEN_OBJECT ? 'key or end' : 'value or end';
    }
    this.#skipScalar();
    return 'comma or end';
  }

  #openString(): void {
    if (!this.#consume(QUOTE)) throw notJsonError();
  }

  /** Skips the rest of an open string, or its next slice. Returns whether its end was reached. */
  #skipStringPart(): boolean {
    const bytes = this.#bytes;
    let at = this.#position;
    let searchFrom = at + SHORT_STRING;
    for (;;) {
      if (at > searchFrom) {
        // memchr(3) searches long strings, such as the files of a config, and does not reject control
        // characters. Without the stored positions each escape would cause a search to the end of the string.
        if (this.#nextQuote < at) this.#nextQuote = this.#indexOf(QUOTE, at);
        if (this.#nextBackslash < at) this.#nextBackslash = this.#indexOf(BACKSLASH, at);
        at = Math.min(this.#nextQuote, this.#nextBackslash);
        searchFrom = at + SHORT_STRING;
      }
      const byte = bytes[at];
      if (byte === undefined || byte < SPACE) throw notJsonError();
      if (byte === BACKSLASH) {
        const end = this.#endOfEscape(at + 1);
        this.#escapeBytes += end - at - 1;
        at = end;
      } else {
        at += 1;
      }
      this.#position = at;
      if (byte === QUOTE) return true;
      if (this.#endSlice()) return false;
    }
  }

  /** Starts the next slice if this one has ended. */
  #endSlice(): boolean {
    if (this.#position < this.#sliceEnd) return false;
    this.#sliceEnd = this.#position + SLICE_BYTES;
    return true;
  }

  /** `at` is the position after the backslash. */
  #endOfEscape(at: number): number {
    const escape = this.#bytes[at];
    if (escape === undefined || !ESCAPES.has(escape)) throw notJsonError();
    if (escape !== LETTER_U) return at + 1;
    for (let digit = 1; digit <= 4; digit += 1) if (!isHexDigit(this.#bytes[at + digit])) throw notJsonError();
    return at + 5;
  }

  #indexOf(byte: number, from: number): number {
    const index = this.#bytes.indexOf(byte, from);
    return index === -1 ? this.#bytes.length : index;
  }

  #skipColon(): void {
    this.#skipSpace();
    if (!this.#consume(COLON)) throw notJsonError();
  }

  #skipScalar(): void {
    const keyword = KEYWORDS.get(this.#bytes[this.#position] ?? 0);
    if (keyword === undefined) this.#skipNumber();
    else if (this.#bytes.subarray(this.#position, this.#position + keyword.length).equals(keyword)) {
      this.#position += keyword.length;
    } else throw notJsonError();
  }

  #skipNumber(): void {
    const bytes = this.#bytes;
    let at = this.#position;
    if (bytes[at] === MINUS) at += 1;
    at = bytes[at] === ZERO ? at + 1 : this.#endOfDigits(at);
    if (bytes[at] === POINT) at = this.#endOfDigits(at + 1);
    if (((bytes[at] ?? 0) | LOWER_CASE_BIT) === LETTER_E) {
      const sign = bytes[at + 1];
      at = this.#endOfDigits(sign === PLUS || sign === MINUS ? at + 2 : at + 1);
    }
    this.#position = at;
  }

  #endOfDigits(start: number): number {
    let at = start;
    while (isDigit(this.#bytes[at]) && at - start <= MAX_DIGITS) at += 1;
    if (at === start || at - start > MAX_DIGITS) throw notJsonError();
    return at;
  }

  /** Parses the string or scalar from `start` to the current position. */
  #parseFrom(start: number, maxLength: number): unknown {
    const isString = this.#bytes[start] === QUOTE;
    if (!isString && this.#position - start > MAX_SCALAR_BYTES) return null;
    const end = isString ? this.#endOfPrefix(start + 1, maxLength) : this.#position;
    const text = this.#bytes.toString('utf8', start, end);
    let value: unknown;
    try {
      value = JSON.parse(isString ? `${text}"` : text);
    } catch {
      throw notJsonError();
    }
    return typeof value === 'string' ? value.slice(0, maxLength) : value;
  }

  /**
   * The end of the string that starts at `start`, or an earlier place between two characters. The cut comes
   * before the parsing, because a parsed string of megabytes would stay in memory as long as a part of it.
   */
  #endOfPrefix(start: number, maxLength: number): number {
    const end = this.#position - 1;
    const limit = start + maxLength * MAX_CHARACTER_BYTES;
    if (end <= limit) return end;
    let at = start;
    while (at < limit) at = this.#bytes[at] === BACKSLASH ? this.#endOfEscape(at + 1) : at + 1;
    while (isContinuation(this.#bytes[at])) at += 1;
    return at;
  }

  #consume(byte: number): boolean {
    if (this.#bytes[this.#position] !== byte) return false;
    this.#position += 1;
    return true;
  }

  #skipSpace(): void {
    const end = this.#position + MAX_SPACE_BYTES;
    while (isSpace(this.#bytes[this.#position])) {
      this.#position += 1;
      if (this.#position > end) throw new MalformedJson('has too much space between values');
    }
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;
}

/** Whether the byte continues a character in UTF-8. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isHexDigit(byte: number | undefined): boolean {
  const letter = (byte ?? 0) | LOWER_CASE_BIT;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

function notJsonError(): MalformedJson {
  return new MalformedJson('is not JSON');
}
