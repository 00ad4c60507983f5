import { styleText } from 'node:util';

export interface TextFormat {
  /** Characters per line. */
  readonly width: number;
  readonly hasColors: boolean;
}

export interface TableFormat extends TextFormat {
  /** Characters per row. A pipe has no limit. */
  readonly columns?: number | undefined;
  /** Whether to print names in full (`-o wide`). */
  readonly isWide?: boolean;
}

export type Style = Parameters<typeof styleText>[0];

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const MIN_WIDTH = 80;
const MAX_PROSE_WIDTH = 100;
const MAX_TABLE_WIDTH = 120;

export function createTextFormat(
  { isTTY = false, columns = MIN_WIDTH }: OutputStream,
  { FORCE_COLOR: forceColor, NO_COLOR: noColor = '', TERM: term }: NodeJS.ProcessEnv,
  maxWidth = MAX_PROSE_WIDTH,
): TextFormat {
  // FORCE_COLOR overrides NO_COLOR (https://no-color.org), which overrides the stream.
  const isForcedOn = forceColor !== '0' && forceColor !== 'false';
  const hasColors = forceColor === undefined ? isTTY && noColor === '' && term !== 'dumb' : isForcedOn;
  return { width: Math.min(maxWidth, Math.max(MIN_WIDTH, columns)), hasColors };
}

/** The text of a pipe is wrapped at the maximum. */
export function createTableFormat(
  { isTTY = false, columns = MAX_TABLE_WIDTH }: OutputStream,
  isWide = false,
): TableFormat {
  const format = createTextFormat({ isTTY, columns }, process.env, MAX_TABLE_WIDTH);
  return { ...format, columns: isTTY ? columns : undefined, isWide };
}

/** Never breaks a word, so that links keep working. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

export function wrapParagraph({ width }: TextFormat, text: string): string {
  return wrapText(text, width).join('\n');
}

export function applyStyle({ hasColors }: TextFormat, style: Style | undefined, text: string): string {
  if (!hasColors || style === undefined || text === '') return text;
  // By default, styleText checks stdout, but this text can go to stderr.
  return styleText(style, text, { validateStream: false });
}
