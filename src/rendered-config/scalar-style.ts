import { resolvePlainScalar } from './plain-scalar.ts';

export type ScalarStyle = 'plain' | 'single-quoted' | 'double-quoted' | 'literal';

const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const TIME = String.raw`(?<hour>\d\d?):(?<minute>\d\d?):(?<second>\d\d?)(?:[.,]\d+)?`;
const ZONE = String.raw`(?:Z|[-+](?<zoneHour>\d\d):(?<zoneMinute>\d\d))`;
const DATE = String.raw`(?<year>\d{4})-(?<month>\d\d?)-(?<day>\d\d?)`;
const TIMESTAMPS = [DATE, `${DATE}[Tt]${TIME}${ZONE}`, `${DATE} +${TIME}`].map((pattern) => new RegExp(`^${pattern}$`));

/** Go's `unicode.IsPrint` is another set: this one is of emitterc.go in yaml.v2. */
const UNPRINTABLE = /[^\n\u0020-\u007E\u00A0-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD]/u;
const LINE_BREAK = /[\r\n\u0085\u2028\u2029]/;
const SPACE_BEFORE_BREAK = / [\r\n\u0085\u2028\u2029]/;
const SPACE_AFTER_BREAK = /[\r\n\u0085\u2028\u2029] /;
/** At its start, or before its end, a plain text would be read as something else. */
const INDICATOR = /^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[-?:](?:[ \t]|$))|:(?:[ \t]|$)|[\0 \t\r\n\u0085\u2028\u2029]#/;
const OUTER_SPACE = /^[ \r\n\u0085\u2028\u2029]|[ \r\n\u0085\u2028\u2029]$/;

/** Whether the emitter must escape the character. */
export function isUnprintable(character: string): boolean {
  return UNPRINTABLE.test(character);
}

export function isLineBreak(character: string): boolean {
  return LINE_BREAK.test(character);
}

/**
 * The style in which yaml.v2 writes a string (encode.go, emitterc.go).
 *
 * @param isSimpleKey whether it is a key on one line with its value
 */
export function selectStyle(text: string, isSimpleKey: boolean): ScalarStyle {
  const isEscaped = UNPRINTABLE.test(text) || SPACE_BEFORE_BREAK.test(text);
  if (text.includes('\n')) {
    return isEscaped || isSimpleKey || text.endsWith(' ') ? 'double-quoted' : 'literal';
  }
  if (!isReadAsString(text)) return 'double-quoted';
  if (isEscaped || SPACE_AFTER_BREAK.test(text)) return 'double-quoted';
  if (isSimpleKey && LINE_BREAK.test(text)) return 'double-quoted';
  return INDICATOR.test(text) || OUTER_SPACE.test(text) || LINE_BREAK.test(text) ? 'single-quoted' : 'plain';
}

/** Whether yaml.v2 reads an unquoted text as this string. */
function isReadAsString(text: string): boolean {
  return resolvePlainScalar(text) === text && !BASE_60.test(text) && !isTimestamp(text);
}

function isTimestamp(text: string): boolean {
  const groups = TIMESTAMPS.map((pattern) => pattern.exec(text)?.groups).find((match) => match !== undefined);
  if (groups === undefined) return false;
  const read = (name: string): number => Number(groups[name] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(read('year'), read('month') - 1, read('day'));
  return (
    date.getUTCMonth() === read('month') - 1 &&
    date.getUTCDate() === read('day') &&
    read('hour') < 24 &&
    read('minute') < 60 &&
    read('second') < 60 &&
    read('zoneHour') <= 24 &&
    read('zoneMinute') <= 60
  );
}
