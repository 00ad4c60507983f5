const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;
/** A search for the end of a string costs as much as so many comparisons. */
const SHORT_STRING = 16;
/** Of an array in {@link WantedMembers}. */
const MAX_ITEMS = 100;

/**
 * The members of an object, or of the first items of an array. `true` wants a value that is neither, and `whole` any
 * value.
 */
export type WantedMembers = true | 'whole' | { readonly [key: string]: WantedMembers };

/** The bytes end within a value. */
export class IncompleteJson extends SyntaxError {}

/** Reads parts of a JSON text. Of the others it only finds the ends, so they can be invalid. */
export class JsonReader {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    while ((this.#bytes[this.at] ?? COMMA) <= SPACE) this.at += 1;
    return this.at === this.#bytes.length;
  }

  /** Moves behind this character if it comes next. Throws IncompleteJson at the end. */
  skipIf(character: '{' | '}' | '[' | ']' | ':' | ','): boolean {
    return this.#take(character.charCodeAt(0));
  }

  /** Reads a whole value. Throws SyntaxError if it is invalid. */
  value(): unknown {
    const start = this.at;
    this.#skipValue();
    return JSON.parse(this.#bytes.toString('utf8', start, this.at));
  }

  /** Reads the wanted members of a value. Throws SyntaxError if it is invalid or has one of them twice. */
  members(wanted: WantedMembers): unknown {
    const isObject = this.#peek() === OPEN_BRACE;
    if (wanted === 'whole' || (!isObject && this.#peek() !== OPEN_BRACKET)) return this.value();
    if (wanted === true) return this.#skipValue();
    this.at += 1;
    return isObject ? this.#object(wanted) : this.#array(wanted);
  }

  #object(wanted: Exclude<WantedMembers, true | 'whole'>): Readonly<Record<string, unknown>> {
    const members: Record<string, unknown> = {};
    while (!this.#take(CLOSE_BRACE)) {
      if (this.#peek() !== QUOTE) throw new SyntaxError('a key is not a text');
      const start = this.at;
      this.#skipValue();
      // No wanted key has escapes.
      const key = this.#bytes.toString('latin1', start + 1, this.at - 1);
      if (!this.#take(COLON)) throw new SyntaxError('a key has no value');
      if (!Object.hasOwn(wanted, key)) this.#skipValue();
      else if (Object.hasOwn(members, key)) throw new SyntaxError('a key repeats');
      else members[key] = this.members(wanted[key] ?? true);
      if (!this.#take(COMMA) && this.#peek() !== CLOSE_BRACE) throw new SyntaxError('a comma is missing');
    }
    return members;
  }

  #array(wanted: Exclude<WantedMembers, true | 'whole'>): readonly unknown[] {
    const items: unknown[] = [];
    while (!this.#take(CLOSE_BRACKET)) {
      if (items.length < MAX_ITEMS) items.push(this.members(wanted));
      else this.#skipValue();
      if (!this.#take(COMMA) && this.#peek() !== CLOSE_BRACKET) throw new SyntaxError('a comma is missing');
    }
    return items;
  }

  #take(byte: number): boolean {
    const isNext = this.#peek() === byte;
    if (isNext) this.at += 1;
    return isNext;
  }

  #peek(): number {
    const bytes = this.#bytes;
    while ((bytes[this.at] ?? COMMA) <= SPACE) this.at += 1;
    const byte = bytes[this.at];
    if (byte === undefined) throw new IncompleteJson('the JSON ends early');
    return byte;
  }

  #skipValue(): void {
    const first = this.#peek();
    if (first === QUOTE) this.at = findStringEnd(this.#bytes, this.at);
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.at = findEnd(this.#bytes, this.at);
    else this.at = findScalarEnd(this.#bytes, this.at);
  }
}

function findEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = findStringEnd(bytes, at);
      continue;
    }
    at += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new IncompleteJson('an object or an array does not end');
}

function findStringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (;;) {
    const near = Math.min(at + SHORT_STRING, bytes.length);
    while (at < near && bytes[at] !== QUOTE) at += 1;
    if (at === near) at = bytes.indexOf(QUOTE, at);
    if (at === -1) throw new IncompleteJson('a text does not end');
    let escapes = 0;
    while (bytes[at - 1 - escapes] === BACKSLASH) escapes += 1;
    at += 1;
    if (escapes % 2 === 0) return at;
  }
}

function findScalarEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    const isDelimiter = byte <= SPACE || byte === COMMA || byte === COLON;
    if (isDelimiter || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (at === start) throw new SyntaxError('a value is missing');
      return at;
    }
    at += 1;
  }
  throw new IncompleteJson('a value does not end');
}
