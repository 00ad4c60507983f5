import { createHash } from 'node:crypto';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Optional } from '@marcbachmann/cel-js';
import { parseJson } from '../files/yaml-stream.ts';
import { addVariables, compile, KUBERNETES, startMeter } from './cel.ts';
import { findRuleError, findTypeError } from './cel-rules.ts';
import { compileGoRegExp } from './go-reg-exp.ts';
import { findFieldSchema, type Schema } from './schemas.ts';

/** What the rules for an object may still cost. */
export interface CostBudget {
  left: number;
}

/** What a rule, and all rules for an object, may cost (apiserver, pkg/apis/cel/config.go). */
const MAX_RULE_COST = 1_000_000;
export const MAX_OBJECT_COST = 10_000_000;
/** Of the rules of CRDs. */
export const CRD_ENVIRONMENT = addVariables(KUBERNETES, ['self', 'oldSelf']);
export const OVERLAY_ENVIRONMENT = createOverlayEnvironment();
/** Of decompressed data. */
const MAX_DATA_BYTES = 64 * 1024 ** 2;
const converted = new WeakMap<object, object>();

/** The result of an expression of the overlay with a value as `self`. Undefined if it fails, such as without a key. */
export function evaluate(expression: string, value: unknown, schema: Schema): unknown {
  try {
    return run(OVERLAY_ENVIRONMENT, expression, value, schema);
  } catch {
    return undefined;
  }
}

/**
 * What an API server makes of a rule of a CRD for a value: broken, also by an error such as a missing key, or too
 * costly, or unknown if this program does not have what the rule calls. Undefined if the value is right, and for a rule
 * that does not compile, which is an error of the CRD.
 */
export function judgeRule(
  rule: string,
  value: unknown,
  schema: Schema,
  budget: CostBudget,
): 'broken' | 'costly' | 'unknown' | undefined {
  let verdict: 'broken' | 'unknown' | undefined;
  const meter = startMeter(Math.min(MAX_RULE_COST, budget.left));
  try {
    if (run(CRD_ENVIRONMENT, rule, value, schema) === false) verdict = 'broken';
  } catch (error) {
    const { name, code = '' } = error as Error & { readonly code?: string };
    // A TypeError of the library is not one of JavaScript.
    const isCompileError = /^(?:Parse|Type)Error$/.test(name) && !(error instanceof TypeError);
    if (!isCompileError) verdict = /overload|unsupported/.test(code) ? 'unknown' : 'broken';
  }
  budget.left -= meter.cost;
  return meter.cost > meter.limit ? 'costly' : verdict;
}

function run(environment: typeof KUBERNETES, text: string, value: unknown, schema: Schema): unknown {
  // The overlay is trusted.
  const expression = compile(environment, text, environment === CRD_ENVIRONMENT);
  return expression({ self: toCel(value, schema), oldSelf: Optional.none() });
}

/** Numbers of CEL are whole (a bigint) or not, Base64 stands for bytes, and some texts for times. */
function toCel(value: unknown, schema: Schema): unknown {
  if (typeof value === 'object' && value !== null) {
    let collection = converted.get(value);
    // Rules about an object and about what it contains share it.
    if (collection === undefined) converted.set(value, (collection = convertCollection(value, schema)));
    return collection;
  }
  const { type, format, conversion } = schema;
  if (format === 'byte' && typeof value === 'string') return new Uint8Array(Buffer.from(value, 'base64'));
  if (conversion !== undefined) return evaluate(conversion, value, {}) ?? value;
  return Number.isInteger(value) && [type].flat().includes('integer') ? BigInt(Number(value)) : value;
}

function convertCollection(value: object, schema: Schema): object {
  if (Array.isArray(value)) return value.map((item) => toCel(item, schema.items ?? {}));
  const fields = Object.entries(value) as [string, unknown][];
  return Object.fromEntries(fields.map(([key, item]) => [key, toCel(item, findFieldSchema(schema, key) ?? {})]));
}

/** The data of a URL. Undefined if it is another one. */
function decodeData(url: string): Buffer | undefined {
  const [, isBase64, data] = /^data:[^,]*?(;base64)?,(.*)$/is.exec(url) ?? [];
  if (data === undefined) return undefined;
  if (isBase64) return Buffer.from(data, 'base64');
  const bytes = data.replaceAll(/%([\da-f]{2})/gi, (_, code: string) => String.fromCodePoint(Number(`0x${code}`)));
  return Buffer.from(bytes, 'latin1');
}

/** Whether the data of a URL have a hash such as `sha512-…`. True for other URLs. */
function hasHash(url: string, hash: string): boolean {
  const data = decodeData(url);
  const [algorithm = '', digest] = hash.split('-');
  const actual = data && /^sha(?:256|512)$/.test(algorithm) && createHash(algorithm).update(data).digest('hex');
  return !actual || digest?.length !== actual.length || digest === actual;
}

/** Whether the data of a URL are gzip data. True for other URLs, and for too many data. */
function isGzip(url: string): boolean {
  try {
    const data = decodeData(url);
    if (data !== undefined) gunzipSync(data, { maxOutputLength: MAX_DATA_BYTES });
    return true;
  } catch (error) {
    return (error as { readonly code?: string }).code === 'ERR_BUFFER_TOO_LARGE';
  }
}

function isTimeZone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** With what only rules of the overlay can call. */
function createOverlayEnvironment(): typeof KUBERNETES {
  const environment = addVariables(KUBERNETES, ['self']);
  const add = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  add('isJson(string): bool', (text: string) => parseJson(text) !== undefined);
  add('resolvePath(string, string): string', (...names: string[]) => path.posix.resolve(...names));
  add('hasHash(string, string): bool', hasHash);
  add('isGzip(string): bool', isGzip);
  add('isTimeZone(string): bool', isTimeZone);
  // Unlike `matches`, it hands the pattern to JavaScript, which also looks around.
  add('string.test(string): bool', (text: string, pattern: string) => new RegExp(pattern).test(text));
  add('isGoRegExp(string): bool', (text: string) => compileGoRegExp(text) !== undefined);
  add('findTypeError(string, list, string): string', (text: string, names: readonly string[], type: string) =>
    findTypeError(addVariables(KUBERNETES, names), text, type),
  );
  add('findRuleError(map): string', findRuleError);
  return environment;
}
