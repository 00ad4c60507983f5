import { getValue, isRecord } from '../rendered-config/rendered-config.ts';
import type { KindVersion, Schema } from './schemas.ts';

/**
 * The kind that a CRD defines, in each version that it serves. Of the schemas, only what an API server needs to reject
 * types, missing fields and values of an enum: they allow unknown fields.
 * @param any the kind that stands for every other one, with the schema of the metadata
 */
export function listDefinedKinds(spec: Readonly<Record<string, unknown>>, any: KindVersion): KindVersion[] {
  const { group, names, scope, versions } = spec;
  if (!Array.isArray(versions)) return [];
  const served = versions.filter((version: unknown) => getValue(version, 'served') === true);
  return served.map((version: unknown) => {
    const schema = convert(getValue(version, 'schema', 'openAPIV3Schema'));
    return {
      ...any,
      apiVersion: `${String(group)}/${String(getValue(version, 'name'))}`,
      kind: String(getValue(names, 'kind')),
      isNamespaced: scope === 'Namespaced',
      schema: { ...schema, properties: { ...schema.properties, ...any.schema.properties } },
    };
  });
}

function convert(schema: unknown): Schema {
  if (!isRecord(schema)) return {};
  const { type, default: value, enum: values, required, properties, items } = schema;
  return {
    isOpen: true,
    // A schema can allow null, and then a required field can be null.
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
    ...(Array.isArray(required) && { required }),
    ...(value !== undefined && { default: value }),
    ...(isRecord(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, convert(each)])),
    }),
    ...(isRecord(items) && { items: convert(items) }),
  };
}
