import { getValue, isRecord } from '../rendered-config/rendered-config.ts';
import { addFormat } from './go-reg-exp.ts';
import { type CelRule, findFieldSchema, KindCatalog, type KindVersion, type Schema } from './schemas.ts';

/** Keywords with a number that means the same here. */
const LIMIT = /^(?:max|min|multipleOf)/;
const EXCLUSIVE = /^exclusiveM/;
const SCHEMA = /^(?:additionalProperties|items|not)$/;
const SCHEMAS = /^(?:all|any|one)Of$/;

/** The kind that a CRD defines, in each version that it serves. */
export function listDefinedKinds({ group, names, scope, versions }: Readonly<Record<string, unknown>>): KindVersion[] {
  // It stands for every other kind, with the schema of the metadata.
  const [any] = KindCatalog.shared().find('internal/any', 'Object');
  if (!Array.isArray(versions) || any === undefined) return [];
  const served = versions.filter((version: unknown) => getValue(version, 'served') === true);
  return served.map((version: unknown) => {
    const schema = convert(getValue(version, 'schema', 'openAPIV3Schema'));
    return {
      ...any,
      apiVersion: `${String(group)}/${String(getValue(version, 'name'))}`,
      kind: String(getValue(names, 'kind')),
      isNamespaced: scope === 'Namespaced',
      schema: {
        ...schema,
        properties: { apiVersion: {}, kind: {}, ...schema.properties, ...any.schema.properties },
        // A CRD can restrict names.
        allOf: [...(schema.allOf ?? []), { properties: { metadata: schema.properties?.['metadata'] ?? {} } }],
      },
    };
  });
}

/** What build/schemas/convert-schema.ts makes of a schema, but of one that can be malformed. */
function convert(schema: unknown): Schema {
  if (!isRecord(schema)) return {};
  const {
    format,
    nullable,
    pattern,
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
    const list: unknown[] | undefined = Array.isArray(value) ? value : undefined;
    if (SCHEMA.test(key)) return convert(value);
    if (SCHEMAS.test(key)) return list?.map(convert);
    if (key === 'properties' && isRecord(value))
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, convert(each)]));
    if (key === 'enum') return list?.concat(nulls);
    if (EXCLUSIVE.test(key)) return value === true ? schema[key.replace(EXCLUSIVE, 'm')] : undefined;
    if (LIMIT.test(key)) return typeof value === 'number' ? value : undefined;
    return key === 'default' || (key === 'required' && list) ? value : undefined;
  };
  const known = findFormat(format);
  const converted = Object.entries(schema).map(([key, value]) => [key, convertValue(key, value)] as const);
  const types = isEither === true ? ['integer', 'string'] : [type].flat().filter((each) => typeof each === 'string');
  return {
    ...known,
    ...(typeof pattern === 'string' && { format: addFormat(`/${pattern}/`) }),
    ...Object.fromEntries(converted.filter(([, value]) => value !== undefined)),
    // A whole object has metadata, too.
    isOpen: isOpen === true || isEmbedded === true,
    ...(types.length > 0 && { type: [...types, ...nulls.map(String)] }),
    ...(listType === 'set' && { uniqueItems: true }),
    ...(listType === 'map' && Array.isArray(listKeys) && { listKeys }),
    ...(Array.isArray(rules) && { cel: [...(known?.cel ?? []), ...rules.filter(isRuleOfNewObject)] }),
  };
}

/** A new object has no old one. */
function isRuleOfNewObject(value: unknown): value is CelRule {
  const rule = getValue(value, 'rule');
  return typeof rule === 'string' && !/\boldSelf\b/.test(rule);
}

/** What a format means, as keywords that the validator knows. */
function findFormat(format: unknown): Schema | undefined {
  const [all] = KindCatalog.shared().find('internal/formats', 'Formats');
  return all && findFieldSchema(all.schema, String(format));
}
