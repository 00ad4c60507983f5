import { styleText } from 'node:util';

export interface TextFormat {
  /** Characters per line. */
  readonly width: number;
  readonly hasColors: boolean;
}

export type Style = Parameters<typeof styleText>[0];

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Shorter and longer lines of prose are hard to read. */
const MIN_WIDTH = 80;
const MAX_PROSE_WIDTH = 100;
const MAX_TABLE_WIDTH = 120;

/** 80 to `maxWidth` characters, with colors if the stream or the environment asks for them (https://no-color.org). */
export function createTextFormat(
  { isTTY = false, columns = MIN_WIDTH }: OutputStream,
  { FORCE_COLOR: forceColor, NO_COLOR: noColor = '', TERM: term }: NodeJS.ProcessEnv,
  maxWidth = MAX_PROSE_WIDTH,
): TextFormat {
  // FORCE_COLOR overrides NO_COLOR, which overrides the stream.
  const isForced = forceColor !== '0' && forceColor !== 'false';
  const hasColors = forceColor === undefined ? isTTY && noColor === '' && term !== 'dumb' : isForced;
  return { width: Math.min(maxWidth, Math.max(MIN_WIDTH, columns)), hasColors };
}

/** A pipe has no width. */
export function createTableFormat({ isTTY = false, columns = MAX_TABLE_WIDTH }: OutputStream): TextFormat {
  return createTextFormat({ isTTY, columns }, process.env, MAX_TABLE_WIDTH);
}

/** Breaks a text at spaces. A word that is longer than a line stays whole, so that links keep working. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

export function applyStyle({ hasColors }: TextFormat, style: Style | undefined, text: string): string {
  if (!hasColors || style === undefined || text === '') return text;
  // Without this option styleText decides by stdout, whatever the stream of this text is.
  return styleText(style, text, { validateStream: false });
}
