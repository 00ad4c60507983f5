// The syntax of gopkg.in/yaml.v2, which is that of libyaml and YAML 1.1.

/** A token that is a key if a colon follows in the same line. */
export interface PossibleKey {
  readonly number: number;
  readonly at: number;
  readonly line: number;
  readonly column: number;
  readonly isRequired: boolean;
}

/** A text that Go does not read as YAML. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly line: number;

  constructor(problem: string, line: number) {
    super(problem);
    this.line = line;
  }
}

type Boundary = 'document start' | 'document end' | 'directive' | 'end';
export type Block = 'block sequence' | 'block mapping' | 'block end';
export interface YamlToken {
  /** A key begins with `?`, also if the text has none. */
  readonly type: Boundary | Block | '[' | ']' | '{' | '}' | ',' | '-' | '?' | ':' | Content;
  readonly line: number;
  readonly text: string;
}
export type Content = 'alias' | 'anchor' | 'tag' | 'plain' | 'text';

/** After the text, which does not contain it. */
export const END = '\0';
export const BREAKS = /[\n\u2028\u2029]/g;
export const SPACES_AND_BREAKS = /[ \t\n\u2028\u2029]*/y;
export const LINE = /[^\n\u2028\u2029\0]*/y;
export const COMMENT = /[ \t]*(?:#[^\n\u2028\u2029\0]*)?/y;
const BEFORE_SPACE = '(?=[ \\t\\n\\u2028\\u2029\\0])';
export const BOUNDARY = new RegExp(`(?:---|\\.\\.\\.)${BEFORE_SPACE}`, 'y');
export const DIRECTIVE = new RegExp(
  '%(?:YAML[ \\t]+\\d{1,2}\\.\\d{1,2}|TAG[ \\t]+!(?:[-\\w]*!)?[ \\t]+\\S+)' +
    '(?=[ \\t]*(?:#[^\\n\\u2028\\u2029\\0]*)?[\\n\\u2028\\u2029\\0])',
  'y',
);
export const ANCHOR = new RegExp(`[-\\w]+(?:(?=[?:,\\]}%@\`])|${BEFORE_SPACE})`, 'y');
export const TAG = new RegExp(
  `!(?![-\\w]*!${BEFORE_SPACE})(?:<[^>\\s]*>)?(?:[-\\w;/?:@&=+$,.!~*'()[\\]]|%[\\dA-Fa-f]{2})*${BEFORE_SPACE}`,
  'y',
);
export const BLOCK_HEADER = /[|>](?:([-+])([1-9]?)|([1-9])([-+]?)|)(?=[ \t\n\u2028\u2029\0#])/y;
export const QUOTED_PART = /[^'"\\ \t\n\u2028\u2029\0]+|["'\\]/y;
/** Ends a part of an unquoted text, in a flow collection and elsewhere. */
export const PLAIN_STOP_IN_FLOW = /[ \t\n\u2028\u2029\0:,?[\]{}]/g;
export const PLAIN_STOP = /[ \t\n\u2028\u2029\0:]/g;
export const NO_PLAIN_START = '-?:,[]{}#&*!|>\'"%@`';
const ESCAPED = '0\0a\x07b\bt\t\t\tn\nv\vf\fr\re\x1B  ""\'\'\\\\N\u0085_\u00A0L\u2028P\u2029';
export const ESCAPES = new Map(ESCAPED.match(/../gs)?.map(([char = '', escaped = '']) => [char, escaped]));
export const ESCAPED_CODE = /\\(?:x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8}))/y;

export function isBreak(char: string): boolean {
  return char === '\n' || char === '\u2028' || char === '\u2029';
}

export function isSpaceOrEnd(char: string): boolean {
  return char === ' ' || char === '\t' || char === END || isBreak(char);
}
