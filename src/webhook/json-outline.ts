import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../kube/lists/json-bytes.ts';

/**
 * The parts of an object that are wanted: `value` for a string, number, boolean or null, `values` for an object full of them, or the
 * wanted parts of an object in it.
 */
export interface Outline {
  readonly [key: string]: 'value' | 'values' | Outline;
}

/** The bytes cannot be taken for what they seem to say. The message goes on from "the request body". */
export class MalformedJson extends Error {
  override readonly name = 'UnreadableJson';
}

/** As deep as the API server itself reads (sigs.k8s.io/json, internal/golang/encoding/json/scanner.go). */
const DEPTH_MAX = 10_000;
/** Bytes of wanted parts. All annotations of an object may have 256 KiB (kubernetes, apimachinery/pkg/api/validation); as JSON up to six times that. */
const WANTED_MAX = 2 * 1024 * 1024;
/** What a key or a value costs beside its bytes. */
const EACH_COSTS = 16;

const SPACE = 0x20;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const TAB = 0x09;
const LETTER_U = 0x75;
const LETTER_E = 0x65;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** The bit that makes an ASCII letter a small one. */
const LOWER = 0x20;

/** By their first letters. */
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));
/** Strings up to about this length are looked at byte by byte. */
const NEAR = 48;
const ESCAPED = new Set(Buffer.from('"\\/bfnrtu'));

/** What may come next in a part that is only passed over. */
type Next = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end';

/**
 * Reads the wanted parts of a JSON object, and checks that the rest is JSON without making anything of it: a body made to cost
 * memory (eight million brackets parse for a second, and to 300 MB) costs what an ordinary one does.
 *
 * Stricter than JSON.parse in one thing: a wanted part that is there twice is refused. Which of two would count depends on who
 * reads, and the guard must not judge another object than the one that is deleted.
 *
 * @param bytes UTF-8
 * @returns an object without prototype, or undefined where the JSON is something else than an object. What is no object where one is
 *   wanted, or is one where a value is wanted, reads as null
 * @throws UnreadableJson
 */
export function parseOutline(bytes: Buffer, outline: Outline): Readonly<Record<string, unknown>> | undefined {
  const reader = new Reader(bytes);
  const found = reader.part(outline);
  reader.end();
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined;
}

class Reader {
  readonly #bytes: Buffer;
  /** The brackets that are open in what is passed over. Grows with them: most bodies are flat. */
  readonly #open: number[] = [];
  #at = 0;
  #quote = -1;
  #backslash = -1;
  #wanted = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  part(wanted: Outline[string]): unknown {
    this.#space();
    if (wanted !== 'value' && this.#bytes[this.#at] === OPEN_OBJECT) return this.#object(wanted);
    const begin = this.#at;
    this.#pass();
    const first = this.#bytes[begin];
    return first === OPEN_OBJECT || first === OPEN_ARRAY ? null : this.#parsed(begin);
  }

  end(): void {
    this.#space();
    if (this.#at < this.#bytes.length) throw notJson();
  }

  #object(outline: 'values' | Outline): Record<string, unknown> {
    const found = Object.create(null) as Record<string, unknown>;
    this.#at += 1;
    this.#space();
    if (this.#took(CLOSE_OBJECT)) return found;
    for (;;) {
      this.#space();
      const begin = this.#at;
      this.#string();
      const key = this.#parsed(begin) as string;
      this.#space();
      if (!this.#took(COLON)) throw notJson();
      const wanted = outline === 'values' ? 'value' : Object.hasOwn(outline, key) ? outline[key] : undefined;
      if (wanted === undefined) this.#pass();
      else if (Object.hasOwn(found, key)) throw new MalformedJson(`has "${key}" twice in one object`);
      else found[key] = this.part(wanted);
      this.#space();
      if (this.#took(CLOSE_OBJECT)) return found;
      if (!this.#took(COMMA)) throw notJson();
    }
  }

  /** Passes over one value of any kind. Without recursion: it may be nested as deep as its sender likes. */
  #pass(): void {
    const open = this.#open;
    let next: Next = 'value';
    do {
      this.#space();
      const byte = this.#bytes[this.#at];
      const inObject = open.at(-1) === OPEN_OBJECT;
      switch (next) {
        case 'key or end':
        case 'key':
          if (next === 'key or end' && this.#took(CLOSE_OBJECT)) {
            open.pop();
            next = 'comma or end';
          } else {
            this.#string();
            next = 'colon';
          }
          break;
        case 'colon':
          if (!this.#took(COLON)) throw notJson();
          next = 'value';
          break;
        case 'comma or end':
          if (this.#took(COMMA)) next = inObject ? 'key' : 'value';
          else if (this.#took(inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) open.pop();
          else throw notJson();
          break;
        case 'value':
        case 'value or end':
          if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
            if (open.length === DEPTH_MAX) throw new MalformedJson(`is nested deeper than ${DEPTH_MAX} levels`);
            open.push(byte);
            this.#at += 1;
            next = byte === OPEN_OBJECT ? 'key or end' : 'value or end';
          } else if (next === 'value or end' && this.#took(CLOSE_ARRAY)) {
            open.pop();
            next = 'comma or end';
          } else {
            if (byte === QUOTE) this.#string();
            else this.#scalar();
            next = 'comma or end';
          }
      }
    } while (open.length > 0);
  }

  #string(): void {
    const bytes = this.#bytes;
    if (bytes[this.#at] !== QUOTE) throw notJson();
    let at = this.#at + 1;
    let far = at + NEAR;
    for (;;) {
      if (at > far) {
        // The files of a config are long strings: those are left to memchr(3), which does not look for control characters.
        // Found once and remembered, or a text of escapes would be searched to its end at each of them.
        if (this.#quote < at) this.#quote = this.#next(QUOTE, at);
        if (this.#backslash < at) this.#backslash = this.#next(BACKSLASH, at);
        at = Math.min(this.#quote, this.#backslash);
        far = at + NEAR;
      }
      const byte = bytes[at];
      if (byte === undefined || byte < SPACE) throw notJson();
      if (byte === QUOTE) break;
      at = byte === BACKSLASH ? this.#escape(at + 1) : at + 1;
    }
    this.#at = at + 1;
  }

  /** Where the text goes on after the backslash before `at`. */
  #escape(at: number): number {
    const escaped = this.#bytes[at];
    if (escaped === undefined || !ESCAPED.has(escaped)) throw notJson();
    if (escaped !== LETTER_U) return at + 1;
    for (let digit = 1; digit <= 4; digit += 1) if (!isHex(this.#bytes[at + digit])) throw notJson();
    return at + 5;
  }

  #next(byte: number, from: number): number {
    const found = this.#bytes.indexOf(byte, from);
    return found === -1 ? this.#bytes.length : found;
  }

  #scalar(): void {
    const word = WORDS.get(this.#bytes[this.#at] ?? 0);
    if (word === undefined) this.#number();
    else if (this.#bytes.subarray(this.#at, this.#at + word.length).equals(word)) this.#at += word.length;
    else throw notJson();
  }

  /** By hand: a regular expression wants a string of each, and eight million bytes hold four million numbers. */
  #number(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    if (bytes[at] === MINUS) at += 1;
    at = bytes[at] === ZERO ? at + 1 : this.#digits(at);
    if (bytes[at] === POINT) at = this.#digits(at + 1);
    if (((bytes[at] ?? 0) | LOWER) === LETTER_E) {
      const sign = bytes[at + 1];
      at = this.#digits(sign === PLUS || sign === MINUS ? at + 2 : at + 1);
    }
    this.#at = at;
  }

  /** Where the digits end that begin there; there must be one. */
  #digits(begin: number): number {
    let at = begin;
    while (isDigit(this.#bytes[at])) at += 1;
    if (at === begin) throw notJson();
    return at;
  }

  /** What the string or scalar says that goes from there to here. */
  #parsed(begin: number): unknown {
    this.#wanted += this.#at - begin + EACH_COSTS;
    if (this.#wanted > WANTED_MAX) throw new MalformedJson('has more names and annotations than an object can have');
    try {
      return JSON.parse(this.#bytes.toString('utf8', begin, this.#at)) as unknown;
    } catch {
      throw notJson();
    }
  }

  #took(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (
      let byte = bytes[at];
      byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB;
      byte = bytes[at]
    ) {
      at += 1;
    }
    this.#at = at;
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isHex(byte: number | undefined): boolean {
  const lower = (byte ?? 0) | LOWER;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

function notJson(): MalformedJson {
  return new MalformedJson('is not JSON');
}
