import { isIP, isIPv4, isIPv6 } from 'node:net';

/** What a text must be, and a test of it. */
export type TextCheck = readonly [must: string, test: RegExp | ((text: string) => boolean)];

export const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
/** What templates and shells replace. */
export const PLACEHOLDER = /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/;
const QUANTITY = /^([-+]?)(\d+\.?\d*|\.\d+)(?:([a-zA-Z]*)|[eE]([-+]?\d+))$/;
const FACTORS: Readonly<Record<string, number>> = Object.fromEntries([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [suffix, 1000 ** (index - 3)] as const),
  ...Array.from('KMGTPE', (letter, index) => [`${letter}i`, 1024 ** (index + 1)] as const),
]);
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d)$/;
const LABEL = '[a-z\\d](?:[-a-z\\d]*[a-z\\d])?';
export const SUBDOMAIN = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);

/** The formats of schemas (build/schemas/convert-schema.ts). */
export const FORMATS: Readonly<Record<string, TextCheck>> = {
  byte: ['be Base64', (text) => BASE64.test(text.replaceAll(/[\r\n]/g, ''))],
  cidr: ['be a network, such as 192.0.2.0/24', isCidr],
  'date-time': ['be a time, such as 2026-01-31T12:00:00Z', DATE_TIME],
  duration: ['be a duration, such as 5m', isDuration],
  'go-duration': ['be a duration, such as 5m', isDuration],
  hostname: ['be the name of a host', /^(?=.{1,255}$)[a-z\d](?:[-a-z\d.]*[a-z\d])?$/i],
  ip: ['be an IP address', (text) => isIP(text) > 0],
  ipv4: ['be an IPv4 address', isIPv4],
  ipv6: ['be an IPv6 address', isIPv6],
  quantity: ['be a quantity, such as 500m or 8Gi', (text) => parseQuantity(text) !== undefined],
  uri: ['be a URL', (text) => URL.canParse(text)],
};

function isDuration(text: string): boolean {
  return /^[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(text);
}

export function isCidr(text: string): boolean {
  const [, address = '', bits] = /^(.*)\/(\d{1,3})$/.exec(text) ?? [];
  return isIP(address) > 0 && Number(bits) <= (isIPv4(address) ? 32 : 128);
}

/** The number that a quantity of Kubernetes stands for, such as 8589934592 for `8Gi`. */
export function parseQuantity(text: string): number | undefined {
  const [, sign = '', digits, suffix = '', exponent] = QUANTITY.exec(text) ?? [];
  const factor = exponent === undefined ? FACTORS[suffix] : 10 ** Number(exponent);
  return factor === undefined || digits === undefined ? undefined : Number(`${sign}${digits}`) * factor;
}
