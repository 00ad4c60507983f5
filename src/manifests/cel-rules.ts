import type { Environment } from '@marcbachmann/cel-js';
import { getValue, isRecord } from '../rendered-config/rendered-config.ts';
import { compile, KUBERNETES } from './cel.ts';

/** The types of formats, and of values without one of these (apiserver, pkg/cel/common/schemas.go). */
const TYPES: Readonly<Record<string, string>> = {
  boolean: 'bool',
  byte: 'bytes',
  date: 'google.protobuf.Timestamp',
  'date-time': 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
  integer: 'int',
  number: 'double',
  string: 'string',
};
/** Of a whole object. */
const COMMON_FIELDS = { apiVersion: 'string', kind: 'string', metadata: 'dyn' };
/** The library does not compare values of types that {@link addType} adds. */
const ADDED_TYPE = /\bFields\d+\b/;

/** Why an API server rejects the rules of a schema in a CRD, with the first wrong one. Empty if all are right. */
export function findRuleError(schema: Readonly<Record<string, unknown>>): string {
  const rules = [schema['x-kubernetes-validations']].flat().filter(isRecord);
  for (const { rule, messageExpression, optionalOldSelf } of rules) {
    const environment = KUBERNETES.clone();
    const type = addType(environment, schema, { count: 0 });
    environment.registerVariable('self', type);
    environment.registerVariable('oldSelf', optionalOldSelf === true ? `optional<${type}>` : type);
    for (const [text, wanted] of [
      [rule, 'bool'],
      [messageExpression, 'string'],
    ] as const) {
      const error = typeof text === 'string' && findTypeError(environment, text, wanted);
      if (error) return `${text}: ${error}`;
    }
  }
  return '';
}

/** Why a text is no expression with a result of a type, or of any if the type is empty. Empty if it is one. */
export function findTypeError(environment: Environment, text: string, wanted: string): string {
  try {
    const { type = '' } = compile(environment, text).check();
    return ['', type].includes(wanted) || type === 'dyn' ? '' : `${type} instead of ${wanted}`;
  } catch (error) {
    const [message = ''] = (error as Error).message.split('\n', 1);
    return ADDED_TYPE.test(message) ? '' : message;
  }
}

/** The type of a schema. Adds those of objects to the environment. */
function addType(environment: Environment, schema: unknown, names: { count: number }): string {
  const { type, format, items, properties, additionalProperties: values } = isRecord(schema) ? schema : {};
  if (isRecord(values)) return `map<string, ${addType(environment, values, names)}>`;
  if (type === 'array') return `list<${addType(environment, items, names)}>`;
  const isOpen = getValue(schema, 'x-kubernetes-preserve-unknown-fields') === true && type === 'object';
  if (!isRecord(properties) && !isOpen) return TYPES[String(format)] ?? TYPES[String(type)] ?? 'dyn';
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, addType(environment, field, names)]);
  const name = `Fields${(names.count += 1)}`;
  environment.registerType(name, {
    fields: { ...Object.fromEntries(fields), ...COMMON_FIELDS } as Record<string, string>,
  });
  return name;
}
