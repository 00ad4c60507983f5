/** In bytes: the longest line, and the buffer in which go-systemd looks for longer ones. */
const MAX_LINE = 2048;
const BUFFER = 4096;
const BEFORE_SECTION = /[^[#;]/y;
const COMMENT = /[#;]/y;
const COMMENT_TEXT = /(?:[^\n]*\\ ?\n)*[^\n]*(?:\n|$)/y;
const SECTION = /\[[^\]]*\]/y;
const AFTER_SECTION = /[^\S\n]*(?:\n|$)/y;
const SPACE = /[\t-\r ]/y;
const OPTION = /[^=\n\r]*=/y;
const VALUE = /[^\n]*(?:\n|$)/y;
const LINE_BREAK = /[\r\n]|$/g;

/** Why go-systemd (unit/deserialize.go), with which Ignition reads a unit, rejects one. Empty if it does not. */
export function findUnitFault(contents: string): string {
  // A character for each byte.
  const bytes = Buffer.from(contents).toString('latin1');
  let position = 0;
  let buffered = 0;
  let lineEnd = -1;
  let isInSection = false;
  const state = { isTooLong: false };
  /** What the pattern matches, which it reads. Undefined if it does not. */
  const read = (pattern: RegExp): string | undefined => {
    if (lineEnd < position) {
      LINE_BREAK.lastIndex = position;
      lineEnd = LINE_BREAK.exec(bytes)?.index ?? bytes.length;
    }
    if (Math.min(buffered, lineEnd) - position >= MAX_LINE) state.isTooLong = true;
    pattern.lastIndex = position;
    const found = pattern.exec(bytes)?.[0];
    const end = position + (found?.length ?? 0);
    for (; buffered < end; position = buffered) buffered = Math.min(bytes.length, position + BUFFER);
    position = end;
    return found;
  };
  while (position < bytes.length && !state.isTooLong) {
    if (read(isInSection ? SPACE : BEFORE_SECTION) !== undefined) continue;
    if (read(COMMENT) !== undefined) read(COMMENT_TEXT);
    else if (bytes[position] === '[') {
      if (read(SECTION) === undefined) return 'a section without "]"';
      if (read(AFTER_SECTION) === undefined) return 'text after the name of a section';
      isInSection = true;
    } else if (read(OPTION) === undefined) return 'a line without "="';
    else while (read(VALUE)?.endsWith('\\\n') === true);
  }
  return state.isTooLong ? `a line of more than ${MAX_LINE} bytes` : '';
}
