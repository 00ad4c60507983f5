const TOKEN = "[-\\w!#$%&'*+.^`{|}~]+";
const DATA_URL = new RegExp(
  `^data:(?:${TOKEN}/${TOKEN})?(?:;${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))*(?:;base64,[A-Za-z\\d+/]*={0,2}$|,)`,
);
const URL_DATA = /^(?:[-!$&'()*+,./:;=?@\w~]|%[\dA-Fa-f]{2})*$/;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

/** Reasons why a data URL does not decode, each with a test. The first one counts. */
const DATA_URL_FAULTS: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['a placeholder', /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/],
  ['Base64 with line breaks', /;base64,[^]*\s/],
  ['a space or a line break, which must be %20 or %0A', /\s/],
  ['a "%" that begins no code, and must be %25', /^(?!.*;base64,)[^,]*,.*%(?![\dA-Fa-f]{2})/],
  ['characters that are not Base64, or an incomplete end', /;base64,/],
  ['a comma is missing', /^[^,]*$/],
];

/** Why Ignition does not decode a data URL. Empty if it does, or if the text is another URL. */
export function findDataUrlFault(source: string): string {
  if (!source.startsWith('data:')) return '';
  const [start] = DATA_URL.exec(source) ?? [];
  if (start !== undefined) {
    const isBase64 = start === source && !start.endsWith(',');
    const data = source.slice(isBase64 ? start.indexOf(',') + 1 : start.length);
    if ((isBase64 ? BASE64 : URL_DATA).test(data)) return '';
  }
  return DATA_URL_FAULTS.find(([, pattern]) => pattern.test(source))?.[0] ?? 'characters that must be written as %XX';
}
