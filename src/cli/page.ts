import { styleText } from 'node:util';

/** Where a report goes. */
export interface Page {
  /** Characters a line. */
  readonly width: number;
  readonly colours: boolean;
}

/** Names as `styleText` knows them. */
export type Style = Parameters<typeof styleText>[0];

/** Shorter lines cut tables apart. */
const WIDTH_MIN = 80;
/** Longer lines of prose are hard to read. */
const PROSE_MAX = 100;
/** What a stream is known by. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/**
 * The page that a stream shows: its width, between 80 and what can be read well, and colours if it or the environment wants
 * them.
 */
export function createPage(
  stream: OutputStream,
  env: Readonly<Record<string, string | undefined>>,
  widthMax: number = PROSE_MAX,
): Page {
  const width = Math.min(widthMax, Math.max(WIDTH_MIN, stream.columns ?? WIDTH_MIN));
  return { width, colours: wantsColours(stream.isTTY, env) };
}

/** Breaks a text at spaces. A word that is longer than a line stays whole: links must survive. */
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

/** The text in that style, where the page has colours. */
export function applyStyle({ colours }: Page, style: Style | undefined, text: string): string {
  if (!colours || style === undefined || text === '') return text;
  // The page has decided. By itself styleText would look at stdout once more.
  return styleText(style, text, { validateStream: false });
}

/** As https://no-color.org and Node's own tools have it: FORCE_COLOR beats NO_COLOR beats what the stream is. */
function wantsColours(isTerminal: boolean | undefined, env: Readonly<Record<string, string | undefined>>): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return false;
  return isTerminal === true;
}
