/** The wanted members. A `value` is a string, number, boolean or null, and `values` an object of them. */
export interface Outline {
  readonly [key: string]: 'value' | 'values' | Outline;
}

/** The bytes are invalid or ambiguous JSON. The message continues "the request body". */
export class MalformedJson extends Error {
  override readonly name = 'MalformedJson';
}

/** The limit of the API server's own parser (sigs.k8s.io/json, internal/golang/encoding/json/scanner.go). */
const MAX_DEPTH = 10_000;
/** Annotations may have 256 KiB (kubernetes, apimachinery/pkg/api/validation), six times that if escaped. */
const MAX_WANTED_BYTES = 2 * 1024 * 1024;
/** The cost of a key or value in addition to its bytes. */
const ENTRY_BYTES = 16;

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
 * @returns an object without prototype, or undefined if the JSON is not an object. An array, or an object in
 *   place of a value, becomes null
 * @throws MalformedJson
 */
export function parseOutline(bytes: Buffer, outline: Outline): Readonly<Record<string, unknown>> | undefined {
  const reader = new OutlineReader(bytes);
  const value = reader.readValue(outline);
  reader.expectEnd();
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

class OutlineReader {
  readonly #bytes: Buffer;
  /** The open brackets of a skipped value. */
  readonly #brackets: number[] = [];
  #position = 0;
  /** Results of the last searches, for {@link #skipString}. */
  #nextQuote = -1;
  #nextBackslash = -1;
  #wantedBytes = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  readValue(wanted: Outline[string]): unknown {
    this.#skipSpace();
    const start = this.#position;
    const first = this.#bytes[start];
    if (wanted !== 'value' && first === OPEN_OBJECT) return this.#readObject(wanted);
    this.#skipValue();
    return first === OPEN_OBJECT || first === OPEN_ARRAY ? null : this.#parseFrom(start);
  }

  expectEnd(): void {
    this.#skipSpace();
    if (this.#position < this.#bytes.length) throw notJsonError();
  }

  #readObject(outline: 'values' | Outline): Record<string, unknown> {
    const members = Object.create(null) as Record<string, unknown>;
    this.#position += 1;
    this.#skipSpace();
    if (this.#consume(CLOSE_OBJECT)) return members;
    for (;;) {
      this.#skipSpace();
      const start = this.#position;
      this.#skipString();
      const key = this.#parseFrom(start) as string;
      this.#skipColon();
      const wanted = outline === 'values' ? 'value' : Object.hasOwn(outline, key) ? outline[key] : undefined;
      if (wanted === undefined) this.#skipValue();
      else if (Object.hasOwn(members, key)) throw new MalformedJson(`has "${key}" twice in one object`);
      else members[key] = this.readValue(wanted);
      this.#skipSpace();
      if (this.#consume(CLOSE_OBJECT)) return members;
      if (!this.#consume(COMMA)) throw notJsonError();
    }
  }

  /** Does not recurse, because a client can nest values deeply. */
  #skipValue(): void {
    const brackets = this.#brackets;
    let expected: ExpectedToken = 'value';
    do {
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
        this.#skipString();
        this.#skipColon();
        expected = 'value';
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
    if (byte === QUOTE) this.#skipString();
    else this.#skipScalar();
    return 'comma or end';
  }

  #skipString(): void {
    const bytes = this.#bytes;
    if (bytes[this.#position] !== QUOTE) throw notJsonError();
    let at = this.#position + 1;
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
      if (byte === QUOTE) break;
      at = byte === BACKSLASH ? this.#endOfEscape(at + 1) : at + 1;
    }
    this.#position = at + 1;
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
    while (isDigit(this.#bytes[at])) at += 1;
    if (at === start) throw notJsonError();
    return at;
  }

  /** Parses the string or scalar from `start` to the current position. */
  #parseFrom(start: number): unknown {
    this.#wantedBytes += this.#position - start + ENTRY_BYTES;
    if (this.#wantedBytes > MAX_WANTED_BYTES) {
      throw new MalformedJson('has more names and annotations than an object can have');
    }
    try {
      return JSON.parse(this.#bytes.toString('utf8', start, this.#position)) as unknown;
    } catch {
      throw notJsonError();
    }
  }

  #consume(byte: number): boolean {
    if (this.#bytes[this.#position] !== byte) return false;
    this.#position += 1;
    return true;
  }

  #skipSpace(): void {
    while (isSpace(this.#bytes[this.#position])) this.#position += 1;
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;
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
