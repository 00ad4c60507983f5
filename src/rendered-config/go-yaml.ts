import { compareKeys } from './key-order.ts';
import { isLineBreak, isUnprintable, selectStyle } from './scalar-style.ts';

const INDENT = 2;
/** The emitter breaks a line at the first space after this column. */
const MAX_COLUMN = 80;
/** In bytes. The value of a longer key starts on a line of its own. */
const MAX_SIMPLE_KEY_BYTES = 128;
const BYTE_ORDER_MARK = '\uFEFF';
const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u001B': 'e',
  '"': '"',
  '\\': '\\',
  '\u0085': 'N',
  '\u00A0': '_',
  '\u2028': 'L',
  '\u2029': 'P',
};

/**
 * Formats a value of JSON byte for byte as `yaml.Marshal` of github.com/ghodss/yaml over gopkg.in/yaml.v2 v2.4.0. No
 * library for JavaScript breaks long lines, sorts keys and quotes strings in the same way. Integers must be safe.
 */
export function formatGoYaml(value: unknown): string {
  const writer = new Writer();
  writer.writeNode(value, -1, { isInMapping: false });
  writer.startLine(0);
  return writer.text;
}

/** The emitter of yaml.v2 (emitterc.go), for the events that JSON causes. */
class Writer {
  text = '';
  #column = 0;
  /** Whether the last character was white space. */
  #endsWithSpace = true;
  /** Whether the line contains only indentation, `-`, `?` and `:`. */
  #isIndented = true;

  writeNode(value: unknown, indent: number, { isInMapping }: { readonly isInMapping: boolean }): void {
    if (typeof value === 'string') this.#writeString(foldLineBreaks(value), indent, false);
    else if (Array.isArray(value)) this.#writeSequence(value, indent, isInMapping);
    else if (typeof value === 'object' && value !== null) this.#writeMapping(value, indent);
    else this.#writeIndicator(formatScalar(value));
  }

  startLine(indent: number): void {
    const isPastIndent = this.#column > indent || (this.#column === indent && !this.#endsWithSpace);
    if (!this.#isIndented || isPastIndent) this.#writeLineBreak('\n');
    this.#put(' '.repeat(Math.max(0, indent - this.#column)));
    this.#endsWithSpace = true;
    this.#isIndented = true;
  }

  #writeSequence(items: readonly unknown[], indent: number, isInMapping: boolean): void {
    if (items.length === 0) {
      this.#writeIndicator('[]');
      return;
    }
    const isIndentless = isInMapping && !this.#isIndented && indent >= 0;
    const ownIndent = isIndentless ? indent : increase(indent);
    for (const item of items) {
      this.startLine(ownIndent);
      this.#writeIndicator('-', true);
      this.writeNode(item, ownIndent, { isInMapping: false });
    }
  }

  #writeMapping(mapping: object, indent: number): void {
    const entries = Object.entries(mapping).map(([key, value]) => ({
      key: foldLineBreaks(key),
      value: value as unknown,
    }));
    if (entries.length === 0) {
      this.#writeIndicator('{}');
      return;
    }
    const ownIndent = increase(indent);
    for (const { key, value } of entries.toSorted((a, b) => compareKeys(a.key, b.key))) {
      this.startLine(ownIndent);
      if (!isLineBreak(key) && Buffer.byteLength(key) <= MAX_SIMPLE_KEY_BYTES) {
        this.#writeString(key, ownIndent, true);
        this.#put(':');
        this.#endsWithSpace = false;
        this.#isIndented = false;
      } else {
        this.#writeIndicator('?', true);
        this.#writeString(key, ownIndent, false);
        this.startLine(ownIndent);
        this.#writeIndicator(':', true);
      }
      this.writeNode(value, ownIndent, { isInMapping: true });
    }
  }

  #writeString(text: string, parentIndent: number, isSimpleKey: boolean): void {
    const indent = parentIndent < 0 ? INDENT : parentIndent + INDENT;
    switch (selectStyle(text, isSimpleKey)) {
      case 'plain':
        if (!this.#endsWithSpace) this.#put(' ');
        this.#writeFolded(text, indent, isSimpleKey);
        break;
      case 'single-quoted':
        this.#writeIndicator("'");
        this.#writeFolded(text.replaceAll("'", "''"), indent, isSimpleKey);
        this.#put("'");
        break;
      case 'double-quoted':
        this.#writeIndicator('"');
        this.#writeEscaped(text, indent, isSimpleKey);
        this.#put('"');
        break;
      case 'literal':
        this.#writeLiteral(text, indent);
        return;
    }
    this.#endsWithSpace = false;
    this.#isIndented = false;
  }

  #writeFolded(text: string, indent: number, isSimpleKey: boolean): void {
    const characters = Array.from(text);
    let isAfterBreak = false;
    for (const [index, character] of characters.entries()) {
      if (isLineBreak(character)) {
        this.#writeLineBreak(character);
        this.#isIndented = true;
        isAfterBreak = true;
        continue;
      }
      if (isAfterBreak) this.startLine(indent);
      isAfterBreak = false;
      const canBreak = !isSimpleKey && isSpaceInside(characters, index) && characters[index + 1] !== ' ';
      if (canBreak && this.#column > MAX_COLUMN) this.startLine(indent);
      else this.#put(character);
      this.#isIndented = false;
    }
  }

  #writeEscaped(text: string, indent: number, isSimpleKey: boolean): void {
    const characters = Array.from(text);
    // is_bom() of yaml.v2 looks only at the start of the text, so every character is escaped.
    const hasByteOrderMark = text.startsWith(BYTE_ORDER_MARK);
    for (const [index, character] of characters.entries()) {
      if (hasByteOrderMark || needsEscape(character)) {
        this.#put(escape(character));
      } else if (!isSimpleKey && isSpaceInside(characters, index) && this.#column > MAX_COLUMN) {
        this.startLine(indent);
        if (characters[index + 1] === ' ') this.#put('\\');
      } else {
        this.#put(character);
      }
    }
  }

  #writeLiteral(text: string, indent: number): void {
    const hasIndentHint = text.startsWith(' ') || isLineBreak(text.charAt(0));
    const chomping = /(?:^|[\r\n\u0085\u2028\u2029])[\r\n\u0085\u2028\u2029]$/.test(text) ? '+' : '';
    this.#writeIndicator(`|${hasIndentHint ? INDENT : ''}${isLineBreak(text.slice(-1)) ? chomping : '-'}`);
    this.#writeLineBreak('\n');
    this.#isIndented = true;
    this.#endsWithSpace = true;
    let isLineStart = true;
    for (const character of text) {
      if (isLineBreak(character)) {
        this.#writeLineBreak(character);
        this.#isIndented = true;
        isLineStart = true;
      } else {
        if (isLineStart) this.startLine(indent);
        this.#put(character);
        this.#isIndented = false;
        isLineStart = false;
      }
    }
  }

  /** @param isIndentation whether the rest of the line counts as indented */
  #writeIndicator(indicator: string, isIndentation = false): void {
    if (!this.#endsWithSpace) this.#put(' ');
    this.#put(indicator);
    this.#endsWithSpace = false;
    this.#isIndented = this.#isIndented && isIndentation;
  }

  #writeLineBreak(character: string): void {
    this.text += character;
    this.#column = 0;
  }

  #put(text: string): void {
    this.text += text;
    this.#column += Array.from(text).length;
  }
}

function increase(indent: number): number {
  return indent < 0 ? 0 : indent + INDENT;
}

/** ghodss/yaml reads the JSON with a YAML parser, which folds a NEL inside of a quoted string like a line feed. */
function foldLineBreaks(text: string): string {
  return text.replaceAll(/ *\u0085[ \u0085]*/g, (match) => {
    const count = match.replaceAll(' ', '').length;
    return count === 1 ? ' ' : '\n'.repeat(count - 1);
  });
}

function formatScalar(value: unknown): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
  // strconv.FormatFloat(value, 'g', -1, 64)
  const [digits = '', exponentText = ''] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return String(value);
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** Whether it is a space after another character, and not the last character. */
function isSpaceInside(characters: readonly string[], index: number): boolean {
  const isInside = index > 0 && index < characters.length - 1;
  return isInside && characters[index] === ' ' && characters[index - 1] !== ' ';
}

function needsEscape(character: string): boolean {
  return isUnprintable(character) || isLineBreak(character) || character === '"' || character === '\\';
}

function escape(character: string): string {
  const short = ESCAPES[character];
  if (short !== undefined) return `\\${short}`;
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\U${code.padStart(8, '0')}`;
}
