import { validate } from '@cfworker/json-schema';
import { getValue, isRecord } from '../rendered-config/rendered-config.ts';
import { type CostBudget, evaluate, judgeRule, MAX_OBJECT_COST } from './evaluate.ts';
import { type CelRule, findFieldSchema, type Schema } from './schemas.ts';

/** What is wrong with a value in an object. */
export interface ValueProblem {
  readonly type: 'duplicate' | 'missing' | 'rule' | 'type' | 'unjudged' | 'unknown' | 'value';
  /** The keys and indexes of the value in the object. */
  readonly path: readonly string[];
  /** What the value must do, such as `be a text`, or the text of a rule. Empty for an unknown field and a duplicate. */
  readonly must: string;
  readonly value?: unknown;
  readonly code?: CelRule['code'];
}

type Json = Readonly<Record<string, unknown>>;

interface Options {
  /** Whether Go decodes the value, for which a null in a list is like an empty value. */
  readonly isGo?: boolean;
}

/** A value in an object, as an API server sees it. */
interface Part {
  readonly value: unknown;
  readonly schema: Schema;
  readonly path: readonly string[];
}

interface Context extends Options {
  readonly unknown: ValueProblem[];
  /** What has rules, each part after those that it contains. */
  readonly parts: Part[];
}

/** What messages call a type, and what Go makes of a null. */
const TYPES: Readonly<Record<string, readonly [name: string, empty: unknown]>> = {
  array: ['a list', []],
  boolean: ['true or false', false],
  integer: ['a whole number', 0],
  number: ['a number', 0],
  object: ['a mapping', {}],
  string: ['a text', ''],
};
/** Longer ones do not help a reader. */
const MAX_PATTERN = 60;

/** What a value must do, by the keyword that it violates. The others only say that another one is violated. */
const KEYWORDS: Readonly<Record<string, string | ((argument: never) => string)>> = {
  anyOf: 'have one of the forms that the API allows',
  enum: (values: readonly unknown[]) => `be one of ${values.filter((each) => each !== null && each !== '').join(', ')}`,
  format: (name: string) => formatPattern(name.slice(1, -1)),
  exclusiveMaximum: 'be less than {}',
  exclusiveMinimum: 'be more than {}',
  maximum: 'be at most {}',
  maxItems: 'have at most {} items',
  maxLength: 'have at most {} characters',
  maxProperties: 'have at most {} keys',
  minimum: 'be at least {}',
  minItems: 'have at least {} items',
  minLength: (min: number) => (min === 1 ? 'not be empty' : `have at least ${min} characters`),
  minProperties: 'have at least {} keys',
  multipleOf: 'be a multiple of {}',
  not: 'not have this form',
  oneOf: 'have exactly one of the forms that the API allows',
  pattern: formatPattern,
  type: (type: string | readonly string[]) => `be ${formatTypes(type)}`,
  uniqueItems: 'contain no item twice',
};
const NESTED = /\/(?:anyOf|oneOf|not)\//;

/**
 * Finds what an API server, or a program in Go, rejects in a value or ignores. Like an API server, it drops nulls and
 * unknown fields and adds defaults before it validates, and applies rules in CEL only to a value that is valid
 * otherwise.
 */
export function validateValue(value: unknown, schema: Schema, options: Options = {}): readonly ValueProblem[] {
  const context: Context = { ...options, unknown: [], parts: [] };
  const others = validateSchema(prepare(value, schema, [], context), schema);
  const budget = { left: MAX_OBJECT_COST };
  const rules = context.parts.flatMap((part) => checkRules(part, others.length === 0, budget));
  // A rule says more than a keyword.
  return [...context.unknown, ...rules, ...others];
}

function prepare(value: unknown, schema: Schema, path: readonly string[], context: Context): unknown {
  let prepared = value;
  if (Array.isArray(value)) {
    const { items = {} } = schema;
    const list = context.isGo ? value.map((item: unknown) => item ?? createEmpty(items)) : value;
    prepared = list.map((item: unknown, index) => prepare(item, items, [...path, String(index)], context));
  } else if (isRecord(value)) prepared = prepareMapping(value, schema, path, context);
  if (schema.cel ?? schema.listKeys) context.parts.push({ value: prepared, schema, path });
  return prepared;
}

function createEmpty({ type }: Schema): unknown {
  return TYPES[[type].flat()[0] ?? '']?.[1] ?? null;
}

function prepareMapping(value: Json, schema: Schema, path: readonly string[], context: Context): Json {
  const { properties, additionalProperties, ignoresCase, isOpen } = schema;
  if (properties === undefined && typeof additionalProperties !== 'object') return value;
  const { isGo } = context;
  const names = new Map(Object.keys(properties ?? {}).map((name) => [name.toLowerCase(), name]));
  const prepared: Record<string, unknown> = {};
  // Go sorts the keys, and then the last one of a field counts.
  for (const key of ignoresCase ? Object.keys(value).sort().toReversed() : Object.keys(value)) {
    const name = (ignoresCase && names.get(key.toLowerCase())) || key;
    const isLost = Object.hasOwn(prepared, name);
    const known = findFieldSchema(schema, name);
    if (known === undefined && isOpen) prepared[name] = value[key];
    else if (known === undefined || isLost) context.unknown.push({ type: 'unknown', path: [...path, key], must: '' });
    else if (value[key] !== null || (!isGo && [known.type].flat().includes('null')))
      prepared[name] = prepare(value[key], known, [...path, name], context);
    // In a mapping of Go, a null is an empty value. Go parses one as an empty duration.
    else if (known.format === 'go-duration' || (isGo && known === additionalProperties))
      prepared[name] = prepare(createEmpty(known), known, [...path, name], context);
  }
  for (const [name, { default: value }] of Object.entries(properties ?? {})) {
    if (value !== undefined && !Object.hasOwn(prepared, name)) prepared[name] = structuredClone(value);
  }
  return prepared;
}

function validateSchema(value: unknown, schema: Schema): ValueProblem[] {
  const { errors } = validate(value, schema as object, '7', {}, false);
  const missing = new Set<string>();
  return errors.flatMap(({ keyword, keywordLocation, instanceLocation }): ValueProblem[] => {
    if (NESTED.test(keywordLocation)) return [];
    const path = parsePointer(instanceLocation);
    const pointer = parsePointer(keywordLocation);
    const argument = getValue(schema, ...pointer);
    const found = pointer.includes('propertyNames') ? path.at(-1) : getValue(value, ...path);
    if (keyword === 'required') {
      if (missing.has(keywordLocation + instanceLocation)) return [];
      missing.add(keywordLocation + instanceLocation);
      const names = (argument as readonly string[]).filter((name) => !Object.hasOwn(found as object, name));
      return names.map((name) => ({ type: 'missing', path: [...path, name], must: 'be set' }));
    }
    const { must } = getValue(schema, ...pointer.slice(0, -1)) as Schema;
    const wanted = must?.[keyword] ?? KEYWORDS[keyword];
    if (wanted === undefined) return [];
    const text = typeof wanted === 'string' ? wanted.replace('{}', String(argument)) : wanted(argument as never);
    return [{ type: keyword === 'type' ? 'type' : 'value', path, must: text, value: found }];
  });
}

/** Rules in CEL, and the keys of lists. An API server applies its rules only to an object that is valid otherwise. */
function checkRules(part: Part, isValid: boolean, budget: CostBudget): ValueProblem[] {
  const { value, schema, path } = part;
  const { cel = [], listKeys } = schema;
  const problems = cel.flatMap((rule) => {
    if (rule.must !== undefined) return evaluate(rule.rule, value, schema) === false ? [createProblem(rule, part)] : [];
    return isValid ? checkRuleOfApi(rule, part, budget) : [];
  });
  if (!Array.isArray(value) || listKeys === undefined) return problems;
  const seen = new Set<string>();
  for (const [index, item] of (value as readonly unknown[]).entries()) {
    const key = JSON.stringify(listKeys.length === 0 ? item : listKeys.map((name) => getValue(item, name)));
    if (seen.has(key)) problems.push({ type: 'duplicate', path: [...path, String(index)], must: '', value: item });
    seen.add(key);
  }
  return problems;
}

function checkRuleOfApi({ rule, message }: CelRule, { value, schema, path }: Part, budget: CostBudget): ValueProblem[] {
  const text = `the rule ${rule}`;
  const verdict = judgeRule(rule, value, schema, budget);
  if (verdict === undefined) return [];
  if (verdict === 'unknown') return [{ type: 'unjudged', path, must: text, value }];
  const must = verdict === 'costly' ? `${text} exceeds the cost limit of the API server` : (message ?? text);
  return [{ type: 'rule', path, must, value }];
}

function createProblem({ must = '', cause, code }: CelRule, { value, schema, path }: Part): ValueProblem {
  const reason = cause === undefined ? '' : evaluate(cause, value, schema);
  const text = typeof reason === 'string' && reason !== '' ? `${must} (${reason})` : must;
  return { type: 'value', path, must: text, value, code };
}

function formatPattern(pattern: string): string {
  return pattern.length > MAX_PATTERN ? 'have the form that the API wants' : `match ${pattern}`;
}

function formatTypes(type: string | readonly string[]): string {
  const names = [type].flat().map((name) => TYPES[name]?.[0]);
  return names.filter((name) => name !== undefined).join(' or ');
}

function parsePointer(pointer: string): string[] {
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}
