import { styleText } from 'node:util';

/** How a text is laid out for its reader. */
export interface TextFormat {
  /** Characters per line. */
  readonly width: number;
  readonly hasColors: boolean;
}

/** A style name of `styleText`, or several. */
export type Style = Parameters<typeof styleText>[0];

/** The part of a stream that determines the format of its text. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Narrower tables cut too much. */
const MIN_WIDTH = 80;
/** Longer lines of prose are hard to read. */
const MAX_PROSE_WIDTH = 100;
const MAX_TABLE_WIDTH = 120;

/** The format of a stream: 80 to `maxWidth` characters, with colors if the stream or the environment asks for them. */
export function createTextFormat(stream: OutputStream, env: Environment, maxWidth = MAX_PROSE_WIDTH): TextFormat {
  const width = Math.min(maxWidth, Math.max(MIN_WIDTH, stream.columns ?? MIN_WIDTH));
  return { width, hasColors: wantsColors(stream.isTTY, env) };
}

/** The format of a table on this stream. A pipe has no width. */
export function createTableFormat({ isTTY = false, columns = MAX_TABLE_WIDTH }: OutputStream): TextFormat {
  return createTextFormat({ isTTY, columns }, process.env, MAX_TABLE_WIDTH);
}

/** Breaks a text at spaces. A word that is longer than a line stays whole, so that links keep working. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line === '') {
      line = word;
    } else if (line.length + 1 + word.length <= width) {
      line += ` ${word}`;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** Styles a text if the format has colors. */
export function applyStyle({ hasColors }: TextFormat, style: Style | undefined, text: string): string {
  if (!hasColors || style === undefined || text === '') return text;
  // Without this option styleText decides by stdout, whatever the stream of this text is.
  return styleText(style, text, { validateStream: false });
}

/** As in https://no-color.org and Node: FORCE_COLOR overrides NO_COLOR, which overrides the kind of the stream. */
function wantsColors(isTerminal: boolean | undefined, env: Environment): boolean {
  const forceColor = env['FORCE_COLOR'];
  if (forceColor !== undefined) return forceColor !== '0' && forceColor !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return isTerminal === true;
}
