import type { V1CustomResourceDefinition } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { convertSchema } from '../../../build/schemas/convert-schema.ts';
import { GUARD_NAME, GUARDS_PATH } from '../../../src/api/paths.ts';
import { DEFAULT_SETTINGS, isHold, MODES } from '../../../src/api/settings.ts';
import type { Schema } from '../../../src/manifests/schemas.ts';
import { validateValue } from '../../../src/manifests/validate.ts';
import { getValue } from '../../../src/rendered-config/rendered-config.ts';
import { findAll, listFiles, readFile } from '../../docs/pages.ts';
import { writeLongStatus } from './long-status.ts';
import { type Installed, type Relation, required } from './relation.ts';

const LONG_STATUS = await writeLongStatus();
const KIND = 'MachineConfigGuard';
/** Of the kind, in the commands that the program and the pages print. */
const PRINTED_NAMES = ['src', 'docs']
  .flatMap(listFiles)
  .filter((file) => /\.(?:md|ts)$/.test(file))
  .flatMap((file) => findAll(readFile(file), /\boc \w+ (m\w*guards?)\b/g));
const HOLDS = [
  '0s',
  '30m',
  '24h',
  '1h30m',
  '720h',
  '43200m',
  '720h1s',
  '1d',
  '1.5h',
  '-1h',
  '',
  '1h 1m',
  `${'1'.repeat(10)}h`,
];
/** Columns of dates show an age. */
const TYPE_OF_COLUMN: Readonly<Record<string, string>> = { date: 'string', string: 'string', integer: 'integer' };

/** About the definition of MachineConfigGuard. */
export const SETTINGS_RELATIONS: readonly Relation[] = [
  {
    rule: 'the API server serves the settings at the path that the guard reads',
    check: (installed) => {
      const { metadata, spec } = getDefinition(installed);
      const { group, names, scope } = spec;
      const version = getVersion(installed);
      expect(`/apis/${group}/${version.name}/${names.plural}`).toBe(GUARDS_PATH);
      expect(metadata?.name).toBe(`${names.plural}.${group}`);
      expect({ scope, kind: names.kind, list: names.listKind }).toEqual({
        scope: 'Cluster',
        kind: KIND,
        list: `${KIND}List`,
      });
      expect(names.singular).toBe(KIND.toLowerCase());
      const usable = [names.plural, ...required(names.shortNames)];
      expect(usable).toEqual(expect.arrayContaining(PRINTED_NAMES));
      expect({ served: version.served, storage: version.storage, subresources: version.subresources }).toEqual({
        served: true,
        storage: true,
        subresources: { status: {} },
      });
    },
  },
  {
    rule: 'the API server stores every field of the longest status that the guard writes',
    check: (installed) => {
      const problems = findProblems(installed, { spec: {}, status: LONG_STATUS });
      expect(problems).toEqual([]);
    },
  },
  {
    // The API server rejects another schema (apiextensions-apiserver, pkg/apiserver/schema), and prunes other fields.
    rule: 'the schema gives every field a type, and defines every field of the longest status',
    check: (installed) => {
      const schema = required(required(getVersion(installed).schema).openAPIV3Schema) as OpenSchema;
      expect(findUntyped(schema)).toEqual([]);
      expect(findUndefined(LONG_STATUS, required(schema.properties?.['status']))).toEqual([]);
    },
  },
  {
    rule: 'the API server accepts the modes and holds that the program accepts, and no others',
    check: (installed) => {
      for (const mode of [...MODES, 'Off', 'enforce', ''])
        expect(findProblems(installed, { spec: { mode } }).length === 0, mode).toBe(
          (MODES as readonly string[]).includes(mode),
        );
      for (const holdSuperseded of HOLDS)
        expect(findProblems(installed, { spec: { holdSuperseded } }).length === 0, holdSuperseded).toBe(
          isHold(holdSuperseded),
        );
    },
  },
  {
    rule: 'settings without a mode have the default of the program, which the column then shows',
    check: (installed) => {
      const { properties } = getSchema(installed);
      expect(properties?.['spec']?.default).toEqual({});
      expect(properties?.['spec']?.properties?.['mode']?.default).toBe(DEFAULT_SETTINGS.mode);
    },
  },
  {
    rule: 'the API server rejects settings with another name than the guard reads',
    check: (installed) => {
      expect(findProblems(installed, { metadata: { name: GUARD_NAME } })).toEqual([]);
      expect(findProblems(installed, { metadata: { name: 'other' } })).toHaveLength(1);
    },
  },
  {
    rule: 'each column shows a field that the guard writes or a default, with its type',
    check: (installed) => {
      const example = { metadata: { creationTimestamp: 'now' }, spec: { mode: 'Enforce' }, status: LONG_STATUS };
      for (const { jsonPath, type, name, priority = 0 } of required(getVersion(installed).additionalPrinterColumns)) {
        const value = findByJsonPath(example, jsonPath);
        expect(typeof value, name).toBe(TYPE_OF_COLUMN[type] === 'integer' ? 'number' : 'string');
        expect([0, 1]).toContain(priority);
      }
    },
  },
];

/** The definition is the same in all sets with a guard. */
function getDefinition(installed: Installed): V1CustomResourceDefinition {
  return required(installed.list('CustomResourceDefinition')[0]);
}

function getVersion(installed: Installed) {
  const { versions } = getDefinition(installed).spec;
  expect(versions).toHaveLength(1);
  return required(versions[0]);
}

interface OpenSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, OpenSchema>>;
  readonly additionalProperties?: OpenSchema;
  readonly items?: OpenSchema;
}

function findUntyped({ type, properties = {}, additionalProperties, items }: OpenSchema, path = ''): readonly string[] {
  const inner = {
    ...properties,
    ...(additionalProperties && { '*': additionalProperties }),
    ...(items && { '-': items }),
  };
  const own = ['array', 'boolean', 'integer', 'object', 'string'].includes(type ?? '') ? [] : [path];
  return [...own, ...Object.entries(inner).flatMap(([key, schema]) => findUntyped(schema, `${path}.${key}`))];
}

function findUndefined(value: unknown, schema: OpenSchema | undefined, path = ''): readonly string[] {
  if (schema === undefined) return [path];
  if (Array.isArray(value))
    return value.flatMap((item, index) => findUndefined(item, schema.items, `${path}.${index}`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) =>
    findUndefined(field, schema.properties?.[key] ?? schema.additionalProperties, `${path}.${key}`),
  );
}

/** Converted once for each content. */
const schemas = new Map<string, Schema>();

function getSchema(installed: Installed): Schema {
  const definition = required(required(getVersion(installed).schema).openAPIV3Schema);
  const text = JSON.stringify(definition);
  const schema = schemas.get(text) ?? (convertSchema(definition as Readonly<Record<string, unknown>>, {}) as Schema);
  schemas.set(text, schema);
  return schema;
}

function findProblems(installed: Installed, object: Readonly<Record<string, object>>) {
  return validateValue(
    { apiVersion: 'v1', kind: KIND, metadata: { name: GUARD_NAME }, ...object },
    getSchema(installed),
  );
}

/** Reads a path such as `.status.conditions[?(@.type=="Ready")].status`. */
function findByJsonPath(object: unknown, path: string): unknown {
  const [, start = '', type, end = ''] = /^\.([\w.]+)(?:\[\?\(@\.type=="(\w+)"\)\]\.(\w+))?$/.exec(path) ?? [];
  const value = getValue(object, ...start.split('.'));
  if (type === undefined) return value;
  const conditions = value as readonly Readonly<Record<string, unknown>>[];
  return conditions.find((condition) => condition['type'] === type)?.[end];
}
