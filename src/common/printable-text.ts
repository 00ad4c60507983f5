/** Characters that could break a log line, a terminal or a Warning header. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}\s]+/gu;

/** More than any name or ordinary message has. */
const MAX_LINE_LENGTH = 1_000;

/**
 * Returns untrusted text as one printable line of at most `max` characters. A truncated text ends with three
 * dots, because a Warning header cannot carry an ellipsis.
 */
export function toPrintableLine(text: string, max = MAX_LINE_LENGTH): string {
  // The text can have megabytes. The factor allows for surrogate pairs and runs of spaces.
  const line = text
    .slice(0, 4 * max)
    .replace(UNPRINTABLE, ' ')
    .trim();
  const characters = Array.from(line);
  return characters.length <= max ? line : `${characters.slice(0, max - 3).join('')}...`;
}

/** Excludes control characters, spaces, ignorable characters such as a Hangul filler, and an empty Braille cell. */
const VISIBLE = /[^\p{C}\p{Z}\s\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Returns a text from the first character on that a reader can see, or an empty text. */
export function skipInvisible(text: string): string {
  const start = text.search(VISIBLE);
  return start === -1 ? '' : text.slice(start);
}

/** `1 node`, `3 nodes`. */
export function countNoun(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `16 MiB`. */
export function formatMebibytes(bytes: number): string {
  return `${bytes / 2 ** 20} MiB`;
}

/** `a`, `a and b`, `a, b and c`. */
export function joinWithAnd(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** `a, b and c`, or `a, b, c and 2 more`. */
export function joinFirst(parts: readonly string[], max = 3): string {
  const more = parts.length - max;
  return joinWithAnd(more > 0 ? [...parts.slice(0, max), `${more} more`] : parts);
}
