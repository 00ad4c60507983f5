import { toPrintableLine } from '../common/printable-text.ts';

const MAX_QUOTE = 300;

/** Untrusted text as one printable line, cut to the length of a sentence. */
export function quote(text: string): string {
  return toPrintableLine(text, MAX_QUOTE);
}
