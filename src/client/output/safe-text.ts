/** Control, format and unassigned characters and line separators, but no line feed and no tab. */
const UNSAFE = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu;
const SAFE = /^[\n\t -~]*$/;
/** A terminal's bold, red and magenta, and their ends. */
const STYLE = /^(?:0|1|22|31|35|39)m/;

/** Removes what a terminal could interpret. Keeps line feeds, tabs and the styles of this program. */
export function removeUnsafe(text: string): string {
  if (SAFE.test(text)) return text;
  return text.replaceAll(UNSAFE, (character, index: number) =>
    character === '\u001B' && text[index + 1] === '[' && STYLE.test(text.slice(index + 2, index + 5)) ? character : '',
  );
}

/** Escapes what a terminal could interpret, within strings of JSON or quoted strings of YAML. */
export function escapeUnsafe(text: string): string {
  if (SAFE.test(text)) return text;
  return text.replaceAll(UNSAFE, (character) =>
    // The two formats escape characters of two code units differently.
    character.length > 1 ? '\uFFFD' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
