import { getValue, isRecord } from '../rendered-config/rendered-config.ts';
import type { KindVersion, Schema } from './schemas.ts';

/** Keywords that mean the same here. */
const SAME = /^(?:default|max|min|multipleOf)/;
const SCHEMAS = new Set(['additionalProperties', 'allOf', 'anyOf', 'items', 'not', 'oneOf']);

/**
 * The kind that a CRD defines, in each version that it serves. An API server also checks formats and exclusive limits,
 * which the schemas lack.
 * @param any the kind that stands for every other one, with the schema of the metadata
 */
export function listDefinedKinds(spec: Readonly<Record<string, unknown>>, any: KindVersion): KindVersion[] {
  const { group, names, scope, versions } = spec;
  if (!Array.isArray(versions)) return [];
  const served = versions.filter((version: unknown) => getValue(version, 'served') === true);
  return served.map((version: unknown) => {
    const schema = convert(getValue(version, 'schema', 'openAPIV3Schema')) as Schema;
    return {
      ...any,
      apiVersion: `${String(group)}/${String(getValue(version, 'name'))}`,
      kind: String(getValue(names, 'kind')),
      isNamespaced: scope === 'Namespaced',
      schema: { ...schema, properties: { apiVersion: {}, kind: {}, ...schema.properties, ...any.schema.properties } },
    };
  });
}

/** What build/schemas/convert-schema.ts makes of a schema, but of one that can be malformed. */
function convert(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(convert);
  if (!isRecord(schema)) return schema === undefined ? {} : schema;
  const {
    nullable,
    type,
    'x-kubernetes-embedded-resource': isEmbedded,
    'x-kubernetes-int-or-string': isEither,
    'x-kubernetes-list-map-keys': listKeys,
    'x-kubernetes-list-type': listType,
    'x-kubernetes-preserve-unknown-fields': isOpen,
    'x-kubernetes-validations': rules,
  } = schema;
  const nulls = nullable === true ? [null] : [];
  const convertValue = (key: string, value: unknown): unknown => {
    if (SCHEMAS.has(key) && typeof value !== 'string') return convert(value);
    if (key === 'properties' && isRecord(value))
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, convert(each)]));
    if (key === 'enum' && Array.isArray(value)) return [...(value as unknown[]), ...nulls];
    const isKept =
      SAME.test(key) || (key === 'required' && Array.isArray(value)) || (key === 'pattern' && isPattern(value));
    return isKept ? value : undefined;
  };
  const converted = Object.entries(schema).map(([key, value]) => [key, convertValue(key, value)] as const);
  const types = isEither === true ? ['integer', 'string'] : [type].flat().filter((each) => typeof each === 'string');
  return {
    ...Object.fromEntries(converted.filter(([, value]) => value !== undefined)),
    // A whole object has metadata, too.
    isOpen: isOpen === true || isEmbedded === true,
    ...(types.length > 0 && { type: [...types, ...nulls.map(String)] }),
    ...(listType === 'set' && { uniqueItems: true }),
    ...(listType === 'map' && Array.isArray(listKeys) && { listKeys }),
    ...(Array.isArray(rules) && {
      cel: rules.filter(isRecord).filter(({ rule }) => !/\boldSelf\b/.test(String(rule))),
    }),
  };
}

/** JavaScript has not all forms of Go's regular expressions. */
function isPattern(text: unknown): boolean {
  try {
    return Boolean(new RegExp(String(text), 'u'));
  } catch {
    return false;
  }
}
