import { isRecord } from '../rendered-config.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a value must do, and the texts or values that do it. */
type FieldType = readonly [must: string, test: RegExp | ((value: unknown) => boolean)];

const LABEL_NAME = '[A-Za-z\\d](?:[-\\w.]{0,61}[A-Za-z\\d])?';
const KEY_PREFIX = '(?:(?=[^/]{1,253}/)[a-z\\d][-a-z\\d.]*/)?';
const SUBDOMAIN = '(?=.{1,253}$)[a-z\\d](?:[-a-z\\d]*[a-z\\d])?(?:\\.[a-z\\d](?:[-a-z\\d]*[a-z\\d])?)*';
const REPOSITORY_PATH = '(?:/[a-z\\d]+(?:(?:[._]|__|-*)[a-z\\d]+)*)*';
const HOST = '[a-zA-Z\\d](?:[-a-zA-Z\\d]*[a-zA-Z\\d])?(?:\\.[a-zA-Z\\d](?:[-a-zA-Z\\d]*[a-zA-Z\\d])?)*';
const MIRROR = `${HOST}(?::\\d+)?${REPOSITORY_PATH}`;
const TOKEN = "[-\\w!#$%&'*+.^`{|}~]+";
const DATA_URL = new RegExp(
  `^data:(?:${TOKEN}/${TOKEN})?(?:;${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))*(?:;base64,[A-Za-z\\d+/]*={0,2}$|,)`,
);
const URL_DATA = /^(?:[-!$&'()*+,./:;=?@\w~]|%[\dA-Fa-f]{2})*$/;
const REMOTE_URL = /^(?:https?|tftp|gs|s3|arn):[!-~]*$/;
const QUANTITY = /^([-+]?)(\d+\.?\d*|\.\d+)(?:([a-zA-Z]*)|[eE]([-+]?\d+))$/;
const FACTORS: Readonly<Record<string, number>> = Object.fromEntries([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [suffix, 1000 ** (index - 3)] as const),
  ...Array.from('KMGTPE', (letter, index) => [`${letter}i`, 1024 ** (index + 1)] as const),
]);
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
const UNIT_NAME = /.\.(?:service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$/;

export const FIELD_TYPES: Readonly<Record<string, FieldType>> = {
  annotationKey: ['be a key of an annotation', new RegExp(`^${KEY_PREFIX}${LABEL_NAME}$`, 'i')],
  any: ['', () => true],
  base64: ['be Base64', (value) => isText(value) && BASE64.test(value.replaceAll(/[\r\n]/g, ''))],
  boolean: ['be true or false', (value) => typeof value === 'boolean'],
  count: ['be a whole number or a percentage', (value) => isText(value) || Number.isInteger(value)],
  dropin: ['end with .conf', /.\.conf$/],
  duration: ['be a duration, such as 5m', /^[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/],
  expression: ['have values for In and NotIn, and only for these', ofFields(hasMatchingValues)],
  hash: ['be sha512-… or sha256-…', /^(?:sha512-[\da-fA-F]{128}|sha256-[\da-fA-F]{64})$/],
  integer: ['be a whole number', Number.isInteger],
  kubelet: [
    'not have autoSizingReserved and systemReserved',
    ofFields(({ autoSizingReserved, kubeletConfig }) => {
      return autoSizingReserved !== true || !isRecord(kubeletConfig) || isEmpty(kubeletConfig['systemReserved']);
    }),
  ],
  label: ['be at most 63 letters, digits, "-", "_" and "."', new RegExp(`^(?:${LABEL_NAME})?$`)],
  labelKey: ['be a key of a label', new RegExp(`^${KEY_PREFIX}${LABEL_NAME}$`)],
  logLevel: ['be from 1 to 10', (value) => isWithin(value, 1, 10)],
  logSize: ['be more than 8192 bytes', (value) => isQuantity(value, (bytes) => bytes <= 0 || bytes > 8192)],
  mirror: ['be a repository without a scheme, tag or digest', new RegExp(`^${MIRROR}$`)],
  mirrorSource: ['be a repository without a scheme, tag or digest', new RegExp(`^(?:\\*\\.${HOST}|${MIRROR})$`)],
  mode: ['be a whole number from 0 to 07777', (value) => isWithin(value, 0, 0o7777)],
  namespace: ['be at most 63 lower case letters, digits and dashes', /^[a-z\d](?:[-a-z\d]{0,61}[a-z\d])?$/],
  number: ['be a number', (value) => typeof value === 'number'],
  object: ['be a mapping', isRecord],
  objectName: ['be lower case letters, digits, dashes and dots', new RegExp(`^${SUBDOMAIN}$`)],
  owner: ['have an id or a name, not both', ofFields(({ id, name }) => isEmpty(id) || isEmpty(name))],
  path: ['be an absolute path without "..", "//" or "/" at its end', isPath],
  pathSegment: ['not contain "/" or "%"', /^(?!\.{1,2}$)[^/%]+$/],
  pidsLimit: ['be 0, or at least 20', (value) => value === 0 || isWithin(value, 20, Number.MAX_SAFE_INTEGER)],
  size: ['be a size, such as 8G', (value) => isQuantity(value, (bytes) => bytes >= 0)],
  source: ['be a URL that Ignition fetches, or a data URL that decodes', isSource],
  string: ['be a text', isText],
  text: ['not be empty', /./s],
  unit: ['end with .service or another suffix of systemd', UNIT_NAME],
  unset: ['not be set in an install', isEmpty],
};

function ofFields(test: (fields: Json) => boolean): (value: unknown) => boolean {
  return (value) => isRecord(value) && test(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  );
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function isPath(value: unknown): boolean {
  return isText(value) && (value === '/' || /^(?:\/(?!\.{1,2}(?:\/|$))[^/]+)+$/s.test(value));
}

function isQuantity(value: unknown, test: (bytes: number) => boolean): boolean {
  if (!isText(value) && typeof value !== 'number') return false;
  const [, sign = '', digits, suffix = '', exponent] = QUANTITY.exec(String(value)) ?? [];
  const factor = exponent === undefined ? FACTORS[suffix] : 10 ** Number(exponent);
  return factor !== undefined && digits !== undefined && test(Number(`${sign}${Math.ceil(Number(digits) * factor)}`));
}

function isSource(value: unknown): boolean {
  if (!isText(value) || value === '') return value === '';
  if (!value.startsWith('data:')) return REMOTE_URL.test(value);
  const [start] = DATA_URL.exec(value) ?? [];
  if (start === undefined) return false;
  const isBase64 = start === value && !start.endsWith(',');
  return isBase64 ? BASE64.test(start.slice(start.indexOf(',') + 1)) : URL_DATA.test(value.slice(start.length));
}

function hasMatchingValues({ operator, values }: Json): boolean {
  return operator === 'In' || operator === 'NotIn' ? !isEmpty(values) : isEmpty(values);
}
