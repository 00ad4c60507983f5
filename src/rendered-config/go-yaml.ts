import { resolvePlainScalar } from '../files/plain-scalar.ts';

/** A part of a spec that no known rendered config has. How Go formats it is unknown, so no hash can verify it. */
export class UnverifiableContent extends Error {
  override readonly name = 'UnverifiableContent';
}

const INDENT = 2;
/** The emitter breaks a line at the first space after this column. */
const MAX_COLUMN = 80;
/** As all keys of a MachineConfig and of Ignition, such as `tpm2`. Go sorts numbers in keys by their value. */
const KEY = /^[A-Za-z]+[0-9]?$/;
/** Control characters, the other line breaks of YAML 1.1, byte order marks and lone surrogates. */
const UNVERIFIABLE = /[^\t\n\r -~\u00A0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD\u{10000}-\u{10FFFF}]/u;
/** Go takes some of these texts for a time or a number. */
const DATE_OR_BINARY = /^\d{4}-\d\d?-\d\d?(?:[Tt ]|$)|^0b[-+]/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
/** Characters that the emitter escapes, and a space before a line feed. */
const ESCAPED = /[\t\r\u{10000}-\u{10FFFF}]| \n/u;
/** A reader would take it for syntax, or would remove a space. */
const NOT_PLAIN = /^(?:---|\.\.\.|[ #,[\]{}&*!|>'"%@`]|[-?:](?: |$))|:(?: |$)| #| $/;

/**
 * Formats the spec of a rendered config byte for byte as `yaml.Marshal` of github.com/ghodss/yaml over gopkg.in/yaml.v2
 * v2.4.0. No library for JavaScript breaks long lines and quotes strings in the same way.
 * @throws UnverifiableContent
 */
export function formatGoYaml(spec: object): string {
  return formatCollection(spec, 0);
}

/** @param collection an array or an object that is not empty */
function formatCollection(collection: object, indent: number): string {
  const margin = ' '.repeat(indent);
  const innerIndent = indent + INDENT;
  if (Array.isArray(collection)) {
    const items = collection.map((item: unknown) =>
      isFilled(item)
        ? formatCollection(item, innerIndent).trimStart()
        : `${formatScalar(item, innerIndent, innerIndent)}\n`,
    );
    return items.map((item) => `${margin}- ${item}`).join('');
  }
  const entries = Object.entries(collection) as [string, unknown][];
  const lines = entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => {
      if (!KEY.test(key) || resolvePlainScalar(key) !== key) throw new UnverifiableContent('an unknown key');
      const start = `${margin}${key}:`;
      if (!isFilled(value)) return `${start} ${formatScalar(value, start.length + 1, innerIndent)}\n`;
      return `${start}\n${formatCollection(value, Array.isArray(value) ? indent : innerIndent)}`;
    });
  return lines.join('');
}

function isFilled(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** @param indent of the lines after the first one */
function formatScalar(value: unknown, column: number, indent: number): string {
  if (typeof value === 'string') return formatString(value, column, indent);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[]' : '{}';
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new UnverifiableContent('a fraction');
  return String(value);
}

/** Selects the style as yaml.v2 does (encode.go, emitterc.go). */
function formatString(text: string, column: number, indent: number): string {
  const isBlock = text.includes('\n');
  const [character] = UNVERIFIABLE.exec(text) ?? [];
  if (character !== undefined) throw new UnverifiableContent(`the character U+${formatCodePoint(character, 4)}`);
  if (!isBlock && DATE_OR_BINARY.test(text)) throw new UnverifiableContent('a text like a date');
  const isQuoted = isBlock ? text.endsWith(' ') : resolvePlainScalar(text) !== text || BASE_60.test(text);
  if (isQuoted || ESCAPED.test(text)) return `"${foldLine(text, column + 1, indent, { isEscaped: true })}"`;
  if (isBlock) return formatBlock(text, indent);
  if (!NOT_PLAIN.test(text)) return foldLine(text, column, indent);
  return `'${foldLine(text.replaceAll("'", "''"), column + 1, indent)}'`;
}

function formatBlock(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? INDENT : '';
  const kept = /(?:^|\n)\n$/.test(text) ? '+' : '';
  const chomping = text.endsWith('\n') ? kept : '-';
  const lines = text.replace(/\n$/, '').split('\n');
  return [`|${hint}${chomping}`, ...lines.map((line) => (line === '' ? '' : ' '.repeat(indent) + line))].join('\n');
}

/** Breaks the line at single spaces, and in a text with escapes at the first of several. */
function foldLine(text: string, startColumn: number, indent: number, { isEscaped = false } = {}): string {
  const characters = Array.from(text);
  let folded = '';
  let column = startColumn;
  for (const [index, character] of characters.entries()) {
    const [previous, next] = [characters[index - 1] ?? ' ', characters[index + 1]];
    const isBreakable = character === ' ' && previous !== ' ' && next !== undefined && (isEscaped || next !== ' ');
    const isFolded = isBreakable && column > MAX_COLUMN;
    const written = isFolded ? ' '.repeat(indent) + (next === ' ' ? '\\' : '') : escapeIf(isEscaped, character);
    folded += isFolded ? `\n${written}` : written;
    column = isFolded ? written.length : column + written.length;
  }
  return folded;
}

function escapeIf(isEscaped: boolean, character: string): string {
  if (!isEscaped) return character;
  // JSON escapes the same characters of the Basic Multilingual Plane.
  return character.length > 1 ? `\\U${formatCodePoint(character, 8)}` : JSON.stringify(character).slice(1, -1);
}

function formatCodePoint(character: string, digits: number): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(digits, '0');
}
