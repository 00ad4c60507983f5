import { createHash } from 'node:crypto';
import { BlockList, isIP, isIPv4 } from 'node:net';
import path from 'node:path';
import { Environment, Optional } from '@marcbachmann/cel-js';
import { parseJson } from '../files/yaml-stream.ts';
import { compileGoRegExp } from './go-reg-exp.ts';
import { findFieldSchema, type Schema } from './schemas.ts';

type Expression = ReturnType<Environment['parse']>;

const QUANTITY = /^([-+]?(?:\d+\.?\d*|\.\d+))(?:[eE]([-+]?\d+)|([KMGTPE])i|([numkMGTPE]?))$/;

/** Go finds no path in a URL without one. */
class ParsedUrl extends URL {
  readonly path: string;

  constructor(text: string) {
    super(text);
    this.path = /^\w+:\/\/[^/]*$/.test(text) ? '' : this.pathname;
  }
}

const ENVIRONMENT = createEnvironment();
const expressions = new Map<string, Expression>();
const converted = new WeakMap<object, object>();

/**
 * The result of an expression of CEL with a value as `self`. Undefined if it fails, such as one that calls a function
 * that is unknown here, and null if the value lacks what it needs. Kubernetes escapes some names with `__`.
 */
export function evaluate(expression: string, value: unknown, schema: Schema): unknown {
  try {
    let parsed = expressions.get(expression);
    if (parsed === undefined) expressions.set(expression, (parsed = parse(expression)));
    return parsed({ self: toCel(value, schema), oldSelf: Optional.none() });
  } catch (error) {
    const isMissing = (error as { readonly code?: string }).code === 'no_such_key' && !expression.includes('__');
    return isMissing ? null : undefined;
  }
}

/** The library hands `matches` to JavaScript, and nothing can replace a function of the language. */
function parse(expression: string): Expression {
  return ENVIRONMENT.parse(expression.replaceAll('.matches(', '.matchesInGo('));
}

/** Whether the text is an expression. True for what the library does not parse: quoted fields, and objects of types. */
function isCel(text: string): boolean {
  try {
    return /`|\w\{/.test(text) || Boolean(ENVIRONMENT.parse(text));
  } catch {
    return false;
  }
}

/** Undefined, which is no value of CEL, if Go rejects the pattern. */
function matches(text: string, pattern: string): boolean | undefined {
  return compileGoRegExp(pattern)?.test(text);
}

function findAll(text: string, pattern: string): string[] {
  return Array.from(compileGoRegExp(pattern)?.matchAll(text) ?? [], ([found]) => found);
}

/** Numbers of CEL are whole (a bigint) or not, and Base64 stands for bytes. */
function toCel(value: unknown, schema: Schema): unknown {
  if (typeof value === 'object' && value !== null) {
    let collection = converted.get(value);
    // Rules about an object and about what it contains share it.
    if (collection === undefined) converted.set(value, (collection = convertCollection(value, schema)));
    return collection;
  }
  const { type, format } = schema;
  if (format === 'byte' && typeof value === 'string') return new Uint8Array(Buffer.from(value, 'base64'));
  return Number.isInteger(value) && [type].flat().includes('integer') ? BigInt(Number(value)) : value;
}

function convertCollection(value: object, schema: Schema): object {
  if (Array.isArray(value)) return value.map((item) => toCel(item, schema.items ?? {}));
  const fields = Object.entries(value) as [string, unknown][];
  return Object.fromEntries(fields.map(([key, item]) => [key, toCel(item, findFieldSchema(schema, key) ?? {})]));
}

/** The number that a quantity of Kubernetes stands for, such as 8589934592 for `8Gi`. */
export function parseQuantity(text: string): number | undefined {
  const [, number, exponent, binary, decimal] = QUANTITY.exec(text) ?? [];
  if (number === undefined) return undefined;
  if (exponent !== undefined) return Number(number) * 10 ** Number(exponent);
  const factor = binary ? 1024 ** ' KMGTPE'.indexOf(binary) : 1000 ** ('num kMGTPE'.indexOf(decimal || ' ') - 3);
  return Number(number) * factor;
}

function isCidr(text: string): boolean {
  const [, address = '', bits] = /^(.*)\/(\d{1,3})$/.exec(text) ?? [];
  return isIP(address) > 0 && Number(bits) <= (isIPv4(address) ? 32 : 128);
}

/** Whether a network contains all addresses of another one. */
function containsCidr(network: string, other: string): boolean {
  const [[address = '', bits], [start = '', otherBits]] = [network.split('/'), other.split('/')];
  const list = new BlockList();
  list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6');
  return Number(otherBits) >= Number(bits) && list.check(start, isIPv4(start) ? 'ipv4' : 'ipv6');
}

/** Whether the data of a URL have a hash such as `sha512-…`. True for other URLs, and for what does not decode. */
function hasHash(url: string, hash: string): boolean {
  const [, isBase64, data = ''] = /^data:[^,]*?(;base64)?,(.*)$/is.exec(url) ?? [];
  const [algorithm = '', digest] = hash.split('-');
  try {
    const bytes = isBase64 ? Buffer.from(data, 'base64') : Buffer.from(decodeURIComponent(data));
    const actual = createHash(algorithm).update(bytes).digest('hex');
    return !url.startsWith('data:') || digest?.length !== actual.length || digest === actual;
  } catch {
    return true;
  }
}

/** The functions of Kubernetes that rules of OpenShift call (apiserver, pkg/cel/library). */
function createEnvironment(): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: true,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
  });
  environment.registerType('ParsedUrl', ParsedUrl);
  const add = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  add('isJson(string): bool', (text: string) => parseJson(text) !== undefined);
  add('resolvePath(string, string): string', (...names: string[]) => path.posix.resolve(...names));
  add('list.sum(): int', (list: readonly bigint[]) => list.reduce((sum, item) => sum + item, 0n));
  add('hasHash(string, string): bool', hasHash);
  add('matches(string, string): bool', matches);
  add('string.matchesInGo(string): bool', matches);
  // Only for rules of the overlay: JavaScript also looks around.
  add('string.test(string): bool', (text: string, pattern: string) => new RegExp(pattern).test(text));
  add('isGoRegExp(string): bool', (text: string) => compileGoRegExp(text) !== undefined);
  add('isCel(string): bool', isCel);
  // Go takes no control characters.
  add('isURL(string): bool', (text: string) => !/\p{Cc}/u.test(text) && URL.canParse(text));
  add('url(string): ParsedUrl', (text: string) => new ParsedUrl(text));
  add('ParsedUrl.getScheme(): string', ({ protocol }: URL) => protocol.slice(0, -1));
  add('ParsedUrl.getHostname(): string', ({ hostname }: URL) => hostname);
  add('ParsedUrl.getPort(): string', ({ port }: URL) => port);
  add('ParsedUrl.getEscapedPath(): string', ({ path }: ParsedUrl) => path);
  add('ParsedUrl.getQuery(): map', ({ searchParams }: URL) => Object.fromEntries(searchParams));
  add('isIP(string): bool', (text: string) => isIP(text) > 0);
  add('isCIDR(string): bool', isCidr);
  // Addresses and networks stay texts.
  for (const name of ['ip', 'cidr']) add(`${name}(string): string`, (text: string) => text);
  add('string.ip(): string', (text: string) => text.split('/')[0]);
  add('string.family(): int', (text: string) => BigInt(isIP(text)));
  add('string.prefixLength(): int', (text: string) => BigInt(text.split('/')[1] ?? ''));
  add('string.containsCIDR(string): bool', containsCidr);
  add('isQuantity(string): bool', (text: string) => parseQuantity(text) !== undefined);
  add('quantity(dyn): double', (value: unknown) => parseQuantity(String(value)) ?? Number.NaN);
  add('double.isGreaterThan(double): bool', (one: number, other: number) => one > other);
  add('double.compareTo(double): int', (one: number, other: number) => BigInt(Math.sign(one - other)));
  add('string.find(string): string', (text: string, pattern: string) => findAll(text, pattern)[0] ?? '');
  add('string.findAll(string): list', findAll);
  add('string.replace(string, string, int): string', (text: string, from: string, to: string) =>
    text.replace(from, to),
  );
  return environment;
}
