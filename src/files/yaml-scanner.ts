import {
  ANCHOR,
  BLOCK_HEADER,
  BOUNDARY,
  BREAKS,
  COMMENT,
  DIRECTIVE,
  END,
  ESCAPED_CODE,
  ESCAPES,
  LINE,
  NO_PLAIN_START,
  PLAIN_STOP,
  PLAIN_STOP_IN_FLOW,
  QUOTED_PART,
  SPACES_AND_BREAKS,
  TAG,
  YamlError,
  isBreak,
  isSpaceOrEnd,
  type Block,
  type Content,
  type PossibleKey,
  type YamlToken,
} from './yaml-syntax.ts';

const MAX_KEY_LENGTH = 1024;

/**
 * Splits a text into tokens by the rules of gopkg.in/yaml.v2, which are those of libyaml and YAML 1.1. Other parsers
 * accept other texts. Its line breaks are line feeds, U+2028 and U+2029.
 */
export class YamlScanner {
  /** Of the token that was taken last. */
  lastLine = 1;
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  /** The column of the innermost block collection. */
  #indent = -1;
  readonly #indents: number[] = [];
  #canStartKey = true;
  /** One for each flow collection, and one for the block around them. */
  readonly #keys: (PossibleKey | undefined)[] = [undefined];
  readonly #tokens: YamlToken[] = [];
  #tokensTaken = 0;

  constructor(text: string) {
    this.#text = `${text}${END}`;
  }

  get depth(): number {
    return this.#indents.length + this.#keys.length;
  }

  peek(): YamlToken {
    // A possible key can still need tokens before it.
    const isUndecided = (key: PossibleKey | undefined, level: number): boolean =>
      key?.number === this.#tokensTaken && this.#findKey(level) !== undefined;
    while (this.#tokens[0] === undefined || this.#keys.some(isUndecided)) this.#fetch();
    return this.#tokens[0];
  }

  take(): YamlToken {
    const token = this.peek();
    this.#tokens.shift();
    this.#tokensTaken += 1;
    this.lastLine = token.line;
    return token;
  }

  get #char(): string {
    return this.#text.charAt(this.#at);
  }

  get #next(): string {
    return this.#text.charAt(this.#at + 1);
  }

  get #column(): number {
    return this.#at - this.#lineStart;
  }

  get #isInFlow(): boolean {
    return this.#keys.length > 1;
  }

  #fail(problem: string, line = this.#line): never {
    throw new YamlError(problem, line);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  /** Takes what a pattern matches within a line. */
  #read(pattern: RegExp): string {
    const text = this.#match(pattern)?.[0] ?? '';
    this.#at += text.length;
    return text;
  }

  #readBreak(): string {
    const lineBreak = this.#char;
    if (!isBreak(lineBreak)) return '';
    this.#at += 1;
    this.#line += 1;
    this.#lineStart = this.#at;
    return lineBreak;
  }

  #fetch(): void {
    this.#skipToToken();
    this.#closeBlocks(this.#column);
    const char = this.#char;
    const isSpaced = isSpaceOrEnd(this.#next);
    if (this.#fetchBoundary()) return;
    if (char === '[' || char === '{') this.#openFlow(char);
    else if (char === ']' || char === '}') {
      this.#add(char, 1, false);
      if (this.#isInFlow) this.#keys.pop();
    } else if (char === ',') this.#add(char, 1, true);
    else if (char === '-' && isSpaced) this.#addEntry(char, 'block sequence', true);
    else if (char === '?' && (this.#isInFlow || isSpaced)) this.#addEntry(char, 'block mapping', !this.#isInFlow);
    else if (char === ':' && (this.#isInFlow || isSpaced)) this.#fetchValue();
    else if ((char === '|' || char === '>') && !this.#isInFlow) this.#fetchBlockText(char === '|');
    else this.#fetchContent(char, isSpaced);
  }

  #fetchContent(char: string, isSpaced: boolean): void {
    this.#saveKey();
    this.#canStartKey = false;
    const line = this.#line;
    const add = (type: Content, text: string): void => void this.#tokens.push({ type, line, text });
    if (char === '*' || char === '&') {
      this.#at += 1;
      add(char === '*' ? 'alias' : 'anchor', this.#read(ANCHOR) || this.#fail('an invalid anchor'));
    } else if (char === '!') add('tag', this.#read(TAG) || this.#fail('an invalid tag'));
    else if (char === '"' || char === "'") add('text', this.#readQuotedText(char));
    else if (!isSpaceOrEnd(char) && (!NO_PLAIN_START.includes(char) || ('-?:'.includes(char) && !isSpaced))) {
      add('plain', this.#readPlainText());
    } else this.#fail('a character that cannot start a value');
  }

  #skipToToken(): void {
    for (;;) {
      // A tab must not indent what could be a key.
      while (this.#char === ' ' || (this.#char === '\t' && (this.#isInFlow || !this.#canStartKey))) this.#at += 1;
      if (this.#char === '#') this.#read(LINE);
      if (this.#readBreak() === '') return;
      if (!this.#isInFlow) this.#canStartKey = true;
    }
  }

  /** The token itself, if a key of its level can still begin with it. */
  #findKey(level = this.#keys.length - 1): PossibleKey | undefined {
    const key = this.#keys[level];
    if (key !== undefined && (key.line < this.#line || key.at + MAX_KEY_LENGTH < this.#at)) this.#removeKey(level);
    return this.#keys[level];
  }

  #removeKey(level = this.#keys.length - 1): void {
    const key = this.#keys[level];
    if (key?.isRequired === true) this.#fail('a key without ":"', key.line);
    this.#keys[level] = undefined;
  }

  #saveKey(): void {
    if (!this.#canStartKey) return;
    this.#removeKey();
    const number = this.#tokensTaken + this.#tokens.length;
    const isRequired = !this.#isInFlow && this.#indent === this.#column;
    this.#keys[this.#keys.length - 1] = { number, at: this.#at, line: this.#line, column: this.#column, isRequired };
  }

  /** @param index of the token of its first key, if it is among the tokens */
  #openBlock(type: Block, column = this.#column, index = this.#tokens.length): void {
    if (this.#isInFlow || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    this.#tokens.splice(index, 0, { type, line: this.#line, text: '' });
  }

  #closeBlocks(column: number): void {
    while (!this.#isInFlow && this.#indent > column) {
      this.#tokens.push({ type: 'block end', line: this.#line, text: '' });
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  /** Adds the token of an indicator. */
  #add(type: YamlToken['type'], length: number, canStartKey: boolean): void {
    this.#removeKey();
    this.#canStartKey = canStartKey;
    this.#tokens.push({ type, line: this.#line, text: '' });
    this.#at += length;
  }

  #addEntry(type: '-' | '?' | ':', block: Block, canStartKey: boolean): void {
    if (!this.#isInFlow && !this.#canStartKey) this.#fail(`"${type}" is not allowed here`);
    this.#openBlock(block);
    this.#add(type, 1, canStartKey);
  }

  #isAtBoundary(): boolean {
    return this.#column === 0 && this.#match(BOUNDARY) !== null;
  }

  #fetchBoundary(): boolean {
    const isDirective = this.#column === 0 && this.#char === '%';
    if (this.#char !== END && !isDirective && !this.#isAtBoundary()) return false;
    // No key continues in the line after the last one.
    if (this.#char === END && this.#column > 0) this.#line += 1;
    this.#closeBlocks(-1);
    if (this.#char === END) this.#add('end', 0, false);
    else if (isDirective)
      this.#add('directive', this.#match(DIRECTIVE)?.[0].length ?? this.#fail('a directive'), false);
    else this.#add(this.#char === '-' ? 'document start' : 'document end', 3, false);
    return true;
  }

  #openFlow(type: '[' | '{'): void {
    this.#saveKey();
    this.#keys.push(undefined);
    this.#add(type, 1, true);
  }

  #fetchValue(): void {
    const key = this.#findKey();
    if (key === undefined) return this.#addEntry(':', 'block mapping', !this.#isInFlow);
    const index = key.number - this.#tokensTaken;
    this.#tokens.splice(index, 0, { type: '?', line: key.line, text: '' });
    this.#openBlock('block mapping', key.column, index);
    this.#keys[this.#keys.length - 1] = undefined;
    this.#add(':', 1, false);
  }

  #fetchBlockText(isLiteral: boolean): void {
    this.#removeKey();
    this.#canStartKey = true;
    const line = this.#line;
    const header = this.#match(BLOCK_HEADER) ?? this.#fail('an invalid block scalar');
    const [, sign = header[4], digit = header[3]] = header;
    this.#at += header[0].length;
    this.#read(COMMENT);
    if (this.#char !== END && this.#readBreak() === '') this.#fail('an invalid block scalar');
    const given = digit ? Math.max(this.#indent, 0) + Number(digit) : undefined;
    const start = this.#readBlankLines(given);
    const indent = given ?? Math.max(start.column, this.#indent + 1, 1);
    let [text, lineBreak, wasBlank, breaks] = ['', '', false, start.breaks];
    while (this.#column === indent && this.#char !== END) {
      const isBlank = this.#char === ' ' || this.#char === '\t';
      const isFolded = !isLiteral && lineBreak === '\n' && !wasBlank && !isBlank;
      text += `${isFolded ? (breaks === '' ? ' ' : '') : lineBreak}${breaks}${this.#read(LINE)}`;
      [wasBlank, lineBreak, breaks] = [isBlank, this.#readBreak(), this.#readBlankLines(indent).breaks];
    }
    text += (sign === '-' ? '' : lineBreak) + (sign === '+' ? breaks : '');
    this.#tokens.push({ type: 'text', line, text });
  }

  /** Reads the empty lines of a block text, and the indentation of the next line. */
  #readBlankLines(indent = Number.POSITIVE_INFINITY): { readonly breaks: string; readonly column: number } {
    let [breaks, column] = ['', 0];
    for (;;) {
      while (this.#column < indent && this.#char === ' ') this.#at += 1;
      column = Math.max(column, this.#column);
      if (this.#column < indent && this.#char === '\t') this.#fail('a tab in the indentation');
      const lineBreak = this.#readBreak();
      if (lineBreak === '') return { breaks, column };
      breaks += lineBreak;
    }
  }

  /** @param hasEscapedBreak whether a break before the spaces was escaped */
  #readSpaces(hasEscapedBreak = false): { readonly folded: string; readonly lines: readonly string[] } {
    const spaces = this.#match(SPACES_AND_BREAKS)?.[0] ?? '';
    const [lines, breaks] = [spaces.split(BREAKS), spaces.match(BREAKS) ?? []];
    this.#at += spaces.length;
    this.#line += breaks.length;
    if (breaks.length > 0) this.#lineStart = this.#at - (lines.at(-1)?.length ?? 0);
    if (hasEscapedBreak) return { folded: breaks.join(''), lines };
    const [first, ...others] = breaks;
    const rest = others.join('');
    const folded = first === '\n' ? rest || ' ' : first === undefined ? spaces : first + rest;
    return { folded, lines };
  }

  #readQuotedText(quote: string): string {
    const line = this.#line;
    let text = '';
    this.#at += 1;
    for (;;) {
      if (this.#isAtBoundary()) this.#fail('a document indicator in a quoted text');
      if (this.#char === END) this.#fail('a quoted text without end', line);
      let hasEscapedBreak = false;
      while (!isSpaceOrEnd(this.#char) && !hasEscapedBreak) {
        if (this.#char === quote && (quote === '"' || this.#next !== quote)) {
          this.#at += 1;
          return text;
        }
        if (quote === '"' && this.#char === '\\') {
          hasEscapedBreak = isBreak(this.#next);
          if (!hasEscapedBreak) text += this.#readEscape();
          else {
            this.#at += 1;
            this.#readBreak();
          }
        } else {
          if (this.#char === quote) this.#at += 1;
          text += this.#read(QUOTED_PART);
        }
      }
      text += this.#readSpaces(hasEscapedBreak).folded;
    }
  }

  #readEscape(): string {
    const [sequence, ...codes] = this.#match(ESCAPED_CODE) ?? [`\\${this.#next}`];
    const code = Number.parseInt(codes.find(Boolean) ?? '', 16);
    if (code > 0x10_ffff || (code >= 0xd800 && code <= 0xdfff)) this.#fail('an escape sequence of no character');
    const text = Number.isNaN(code) ? ESCAPES.get(this.#next) : String.fromCodePoint(code);
    this.#at += sequence.length;
    return text ?? this.#fail('an unknown escape sequence');
  }

  #readPlainText(): string {
    const stop = this.#isInFlow ? PLAIN_STOP_IN_FLOW : PLAIN_STOP;
    const indent = this.#indent + 1;
    let [text, spaces, hasBreak] = ['', '', false];
    while (!this.#isAtBoundary() && this.#char !== '#') {
      const start = this.#at;
      for (;;) {
        this.#at = this.#match(stop)?.index ?? this.#at;
        if (this.#char !== ':' || isSpaceOrEnd(this.#next)) break;
        this.#at += 1;
      }
      if (this.#at > start) [text, spaces, hasBreak] = [text + spaces + this.#text.slice(start, this.#at), '', false];
      if (!isSpaceOrEnd(this.#char) || this.#char === END) break;
      const { folded, lines } = this.#readSpaces();
      [spaces, hasBreak] = [folded, lines.length > 1];
      if (lines.slice(1).some((line) => line.slice(0, indent).includes('\t'))) this.#fail('a tab in the indentation');
      if (!this.#isInFlow && this.#column < indent) break;
    }
    if (hasBreak) this.#canStartKey = true;
    return text;
  }
}
