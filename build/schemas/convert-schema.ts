export type Json = Readonly<Record<string, unknown>>;

interface Context {
  /** Of a Swagger document, by their names. */
  readonly definitions?: Readonly<Record<string, Json>>;
  /** The schema that a reference stands for, if not one of the definitions. */
  readonly resolve?: (reference: string) => Json;
  /** Whether a Go type decodes the objects, so that the API server does not apply the rest of the schema. */
  readonly isGo?: boolean;
  /** Whether encoding/json of Go decodes the objects, which ignores the case of keys. */
  readonly ignoresCase?: boolean;
  /** Whether all objects keep unknown fields. */
  readonly isOpen?: boolean;
  /** Adds what the overlay says about a type in Go. */
  readonly addToType?: (name: string, schema: Json) => Json;
  /** The references that are being converted. */
  readonly open?: readonly string[];
}

/** What this project's validator reads. The others describe, or are for clients. */
const KEPT = new Set([
  'additionalProperties',
  'allOf',
  'anyOf',
  'default',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'items',
  'maximum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minimum',
  'minItems',
  'minLength',
  'minProperties',
  'multipleOf',
  'not',
  'oneOf',
  'pattern',
  'properties',
  'required',
  'type',
  'uniqueItems',
]);
/** Types of Kubernetes with a form of their own, by the last part of their name. */
const SPECIAL: Readonly<Record<string, Json>> = {
  'api.resource.Quantity': { type: ['number', 'string'], format: 'quantity' },
  'util.intstr.IntOrString': { type: ['integer', 'string'] },
  'meta.v1.Time': { type: 'string', format: 'date-time' },
  'meta.v1.MicroTime': { type: 'string', format: 'date-time' },
  'meta.v1.Duration': { type: 'string', format: 'go-duration' },
  'runtime.RawExtension': { type: 'object' },
  'meta.v1.FieldsV1': { type: 'object' },
};
const DURATION = String.raw`[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)`;
const DATE = String.raw`\d{4}-(?:(?:0[13578]|1[02])-(?:[0-2]\d|3[01])|(?:0[469]|11)-(?:[0-2]\d|30)|02-[0-2]\d)`;
const OCTET = String.raw`[\da-fA-F]{2}`;
const BREAKS = String.raw`[\r\n]*`;
const DIGIT = String.raw`[A-Za-z\d+\/]${BREAKS}`;
/**
 * What a text of a format must be, its pattern, and an expression for what rules see in place of it. Of most formats,
 * an empty text is like no value.
 */
const FORMAT_PATTERNS: Readonly<Record<string, readonly [must: string, pattern: string, conversion?: string]>> = {
  byte: ['be Base64', `^${BREAKS}(?:(?:${DIGIT}){4})*(?:(?:${DIGIT}){2}(?:=${BREAKS}){2}|(?:${DIGIT}){3}=${BREAKS})?$`],
  date: ['be a date, such as 2026-01-31', `^${DATE}$`, "timestamp(self + 'T00:00:00Z')"],
  'date-time': [
    'be a time, such as 2026-01-31T12:00:00Z',
    `^$|^${DATE}${String.raw`[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d)$`}`,
    'timestamp(self)',
  ],
  duration: ['be a duration, such as 5m', `^(?:${DURATION})?$`, 'duration(self)'],
  'go-duration': ['be a duration, such as 5m', `^${DURATION}$`],
  email: ['be an email address', '[^@]@[^@]'],
  // Roughly: Go takes letters and symbols of all languages.
  hostname: ['be the name of a host', String.raw`^$|^[\p{L}\p{S}\d](?:[\x2D\p{L}\p{S}\d.]*[\p{L}\p{S}\d])?$`],
  mac: [
    'be a MAC address, such as 02:00:00:00:00:01',
    `^${OCTET}(?:(?:[:\\x2D]?${OCTET}){5,19}|(?:${OCTET}\\.?){5,19})$`,
  ],
  uuid: ['be a UUID', String.raw`^[\da-fA-F]{8}\x2D?(?:[\da-fA-F]{4}\x2D?){3}[\da-fA-F]{12}$`],
  quantity: [
    'be a quantity, such as 500m or 8Gi',
    String.raw`^[\x2D+]?(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]?|[KMGTPE]i|[eE][\x2D+]?\d+)$`,
  ],
};
/** What a text of a format must be, and a rule in CEL. */
export const FORMAT_RULES: Readonly<Record<string, readonly [must: string, cel: string]>> = {
  cidr: ['be a network, such as 192.0.2.0/24', 'isCIDR(self)'],
  ip: ['be an IP address', 'isIP(self)'],
  ipv4: ['be an IPv4 address', "isIP(self) && !self.contains(':')"],
  ipv6: ['be an IPv6 address', "isIP(self) && self.contains(':')"],
  uri: ['be a URL', "isURL(self) || self.startsWith('/')"],
};
/** Those that the validator needs besides (src/manifests/cel.ts and src/manifests/validate.ts). */
const KEPT_FORMATS = new Set(['byte', 'go-duration']);
const GO_KEYS = new Set(['additionalProperties', 'format', 'items', 'properties', 'required', 'type']);
/** Those that an API server or Go checks. */
export const FORMATS = new Set(
  'byte cidr date date-time duration email go-duration hostname int32 int64 ip ipv4 ipv6 mac quantity uri uuid'.split(
    ' ',
  ),
);
/** Only the schema of schemas contains itself. It becomes a part with its name (src/manifests/schemas.ts). */
export const RECURSIVE = 'JSONSchemaProps';
/**
 * Converts a schema of OpenAPI, of a CRD or of Ignition to JSON Schema (draft 7), sorted and without descriptions.
 * `nullable` and `x-kubernetes-int-or-string` become types, `x-kubernetes-validations` becomes `cel`, the keys of a
 * list become `listKeys`, and `isOpen` says that an object keeps unknown fields.
 */
export function convertSchema(schema: Json, context: Context): unknown {
  const reference = schema['$ref'];
  if (typeof reference === 'string') return convertReference(reference, context);
  if (context.isGo === true && Array.isArray(schema['allOf'])) {
    const { allOf, ...rest } = schema;
    return mergeSchemas([rest, ...(allOf as Json[])].map((part) => convertSchema(part, context) as Json));
  }
  const converted: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || !(context.isGo === true ? GO_KEYS : KEPT).has(key)) continue;
    if (key === 'format' && !FORMATS.has(value as string)) continue;
    const kept = convertValue(key, value, context);
    if (kept !== undefined) converted[key] = kept;
  }
  addExtensions(schema, converted, context);
  return sortKeys(convertFormat(converted));
}

/** The schema with its keys in the order of the alphabet. */
export function sortKeys(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The schema with keywords that say the same as its format, and with a format for its pattern. */
function convertFormat({ pattern: goPattern, ...schema }: Json): Json {
  if (typeof goPattern === 'string') return { ...convertFormat(schema), format: `/${goPattern}/` };
  const { format, ...rest } = schema;
  const types = [schema['type']].flat();
  if (types.includes('integer')) {
    const limit = 2 ** (format === 'int32' ? 31 : 63);
    return { exclusiveMaximum: limit, minimum: -limit, ...rest };
  }
  if (typeof format !== 'string' || types[0] === undefined) return schema;
  if (!types.includes('string')) return rest;
  const kept = KEPT_FORMATS.has(format) ? schema : rest;
  const [patternMust, pattern, conversion] = FORMAT_PATTERNS[format] ?? [];
  if (pattern !== undefined)
    return { ...kept, pattern, must: { pattern: patternMust }, ...(conversion !== undefined && { conversion }) };
  const [must, rule] = FORMAT_RULES[format] ?? [];
  const known = (schema['cel'] ?? []) as readonly unknown[];
  return rule === undefined ? kept : { ...kept, cel: [...known, { rule: `self == '' || ${rule}`, must }] };
}

/** One schema with the fields of all, such as those of a type in Go and of what it embeds. */
function mergeSchemas(parts: readonly Json[]): unknown {
  const properties = Object.assign({}, ...parts.map((part) => part['properties'])) as Json;
  const required = parts.flatMap((part) => (part['required'] ?? []) as string[]);
  const sorted = Object.fromEntries(Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1)));
  const merged: Json = Object.assign({}, ...parts);
  return {
    ...merged,
    ...(Object.keys(sorted).length > 0 && { properties: sorted, isOpen: undefined }),
    ...(required.length > 0 && { required: [...new Set(required)].sort() }),
  };
}

function convertReference(original: string, context: Context): unknown {
  // The API server rejects several schemas for the items of a list.
  const reference = original.replace(/JSONSchemaPropsOrArray$/, 'JSONSchemaProps');
  const { definitions = {}, resolve, open = [] } = context;
  if (open.includes(reference)) return { $ref: RECURSIVE };
  const inner = { ...context, open: [...open, reference] };
  if (resolve !== undefined) return convertSchema(resolve(reference), inner);
  const key = reference.split('/').at(-1) ?? '';
  // OpenShift 4.22 writes the parts of Kubernetes' names from the last to the first.
  const name = key.endsWith('.io') ? key.split('.').toReversed().join('.') : key;
  const special = Object.entries(SPECIAL).find(([ending]) => name.endsWith(`.${ending}`));
  if (special !== undefined) return sortKeys(convertFormat(special[1]));
  const converted = convertSchema(definitions[key] ?? {}, inner) as Json;
  const added = context.addToType?.(name, converted) ?? converted;
  if (!name.endsWith(`.${RECURSIVE}`)) return added;
  // Schemas in these need no type.
  return { ...added, properties: { ...(added['properties'] as Json), allOf: {}, anyOf: {}, not: {}, oneOf: {} } };
}

function convertValue(key: string, value: unknown, context: Context): unknown {
  if (key === 'properties') {
    const entries = Object.entries(value as Readonly<Record<string, Json>>);
    const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, each]) => [name, convertSchema(each, context)]));
  }
  if (Array.isArray(value) && key.endsWith('Of')) return value.map((each: Json) => convertSchema(each, context));
  if (['additionalProperties', 'items', 'not'].includes(key) && typeof value === 'object')
    return convertSchema(value as Json, context);
  return value;
}

function addExtensions(schema: Json, converted: Record<string, unknown>, { isGo, ignoresCase, isOpen }: Context): void {
  if (ignoresCase === true && schema['properties'] !== undefined) converted['ignoresCase'] = true;
  if (schema['x-kubernetes-int-or-string'] === true) {
    delete converted['anyOf'];
    converted['type'] = ['integer', 'string'];
  }
  if (schema['nullable'] === true) {
    converted['type'] = [converted['type'], 'null'].flat();
    if (Array.isArray(converted['enum'])) converted['enum'] = [...(converted['enum'] as unknown[]), null];
  }
  const { type } = converted;
  const hasFields = schema['properties'] !== undefined || schema['additionalProperties'] !== undefined;
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (keepsUnknown || (type === 'object' && (isOpen === true || !hasFields))) converted['isOpen'] = true;
  if (schema['x-kubernetes-embedded-resource'] === true) converted['required'] = ['apiVersion', 'kind'];
  // Of built-in kinds, the API server only merges by these.
  if (isGo === true) return;
  if (schema['x-kubernetes-list-type'] === 'set') converted['uniqueItems'] = true;
  if (schema['x-kubernetes-list-type'] === 'map') converted['listKeys'] = schema['x-kubernetes-list-map-keys'];
  const rules = (schema['x-kubernetes-validations'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  // A new object has no old one.
  const cel = rules
    .filter(({ rule, optionalOldSelf }) => optionalOldSelf === true || !/\boldSelf\b/.test(String(rule)))
    .map(({ rule, message }) => ({ rule: String(rule), ...(message !== undefined && { message }) }));
  if (cel.length > 0) converted['cel'] = cel;
}

/** The part of a document at a JSON pointer, such as `#/definitions/a`. */
export function resolvePointer(document: Json, reference: string): Json {
  const keys = reference.replace(/^#\//, '').split('/');
  return keys.reduce((part, key) => part[key] as Json, document);
}
