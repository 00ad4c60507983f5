import { toPrintableLine } from '../common/printable-text.ts';

/** A hostile text can have 256 KiB. */
const MAX_LENGTH = 4_000;
const MAX_START = 100;
const MAX_END = 200;

/**
 * Untrusted text as one printable line of at most 305 characters. A long one loses its middle, because the messages of
 * the operator and of its daemon begin with what failed, and end with why.
 */
export function quote(text: string): string {
  const line = toPrintableLine(text, MAX_LENGTH);
  const characters = Array.from(line);
  if (characters.length <= MAX_START + MAX_END) return line;
  return [...characters.slice(0, MAX_START), ' ... ', ...characters.slice(-MAX_END)].join('');
}
