import { BASE64, PLACEHOLDER } from './formats.ts';

const TOKEN = "[-\\w!#$%&'*+.^`{|}~]+";
const PARAMETER = `;(?!base64)${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`;
const DATA_URL = new RegExp(`^data:(?:${TOKEN}/${TOKEN})?(?:${PARAMETER})*(?:;base64,[A-Za-z\\d+/]*={0,2}$|,)`);
const URL_DATA = /^(?:[-!$&'()*+,./:;=?@\w~]|%[\dA-Fa-f]{2})*$/;
const SCHEME = /^([a-z][-+.a-z\d]*):/i;
const HOST_CHARACTER = '[-\\w.~!$&\'()*+,;=<>"\\u0080-\\uFFFF]|%[89a-fA-F][\\da-fA-F]|%25';
const ADDRESS = '\\[[\\da-fA-F.]*:[\\da-fA-F:.]*(?:%25[^\\]]*)?\\]';
const HOST = `(?:(?:${HOST_CHARACTER}|:)*:|${ADDRESS}:?)\\d*|(?:${HOST_CHARACTER})*`;
const PATH = '(?:[^%?#]|%[\\da-fA-F]{2})*';
/** What net/url of Go parses after a scheme. */
const AFTER_SCHEME = new RegExp(
  `^(?://(?:[-\\w.~!$&'()*+,;=:%@]*@)?(?:${HOST})(?:/${PATH})?|/(?!/)${PATH}|(?!/)[^?#]*)` +
    '(?:\\?[^#]*)?(?:#(?:[^%]|%[\\da-fA-F]{2})*)?$',
);
const CONTROL = /\p{Cc}/u;
/** Objects in S3 (validateURL of Ignition). */
const S3_OBJECT =
  /^(?:s3:(?!.*[?&]versionId=?(?:[&#]|$))|arn:[^:]*:s3:[^:]*:[^:]*:(?:accesspoint\/)?(?!accesspoint\/)[^/?]*\/)/;

/** Reasons why a data URL does not decode, each with a test. The first one counts. */
const DATA_URL_FAULTS: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['a placeholder', PLACEHOLDER],
  ['Base64 with line breaks', /;base64,[^]*\s/],
  ['a space or a line break, which must be %20 or %0A', /\s/],
  ['a "%" that begins no code, and must be %25', /^(?!.*;base64,)[^,]*,.*%(?![\dA-Fa-f]{2})/],
  ['characters that are not Base64, or an incomplete end', /;base64,/],
  ['a comma is missing', /^[^,]*$/],
];

/**
 * Why Ignition does not accept a URL. Empty if it does.
 * @param schemes that it knows, with spaces between them
 */
export function findUrlFault(url: string, schemes: string): string {
  const [start = '', found = ''] = SCHEME.exec(url) ?? [];
  const scheme = found.toLowerCase();
  const known = schemes.split(' ');
  if (!known.includes(scheme)) return `not one of the schemes ${known.join(', ')}`;
  if (scheme === 'data') return findDataUrlFault(url);
  const rest = url.slice(start.length);
  if (CONTROL.test(url) || !AFTER_SCHEME.test(rest)) return 'not a URL';
  return !/^(?:s3|arn)$/.test(scheme) || S3_OBJECT.test(`${scheme}:${rest}`) ? '' : 'not an object in S3';
}

function findDataUrlFault(url: string): string {
  const [start] = DATA_URL.exec(url) ?? [];
  if (start !== undefined) {
    const isBase64 = start === url && !start.endsWith(',');
    const data = url.slice(isBase64 ? start.indexOf(',') + 1 : start.length);
    if ((isBase64 ? BASE64 : URL_DATA).test(data)) return '';
  }
  return DATA_URL_FAULTS.find(([, pattern]) => pattern.test(url))?.[0] ?? 'characters that must be written as %XX';
}
