import { toPrintableLine } from '../../common/printable-text.ts';
import type { StreamDocument } from '../../files/yaml-stream.ts';
import { isRecord } from '../rendered-config.ts';
import { FIELD_TYPES } from './field-types.ts';
import { type Shape, SHAPE_BY_KIND } from './fields.ts';

type Json = Readonly<Record<string, unknown>>;

interface FieldProblem {
  readonly code: 'DuplicateEntry' | 'InvalidContents' | 'InvalidName' | 'InvalidValue' | 'NotAString' | 'UnknownField';
  /** The field and what it must do, such as `spec.config.storage.files[0].path must be a text`. */
  readonly text: string;
  readonly line: number;
}

interface Search {
  readonly document: StreamDocument;
  readonly problems: FieldProblem[];
}

const MAX_KEY_LENGTH = 63;
const NOT_A_STRING = 'be a text';
/** Ignition ignores the case of its fields. */
const IGNITION = /^spec\.config(?:\.|$)/;
/** Only read in a config that a pool selects. */
const CONTENTS = /^spec\.(?:config\.|(?:kernelType|extensions)\b)/;

/** Finds what is wrong with the fields of an object. A null stands for a field that is not set, as in Go. */
export function findFieldProblems(object: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly value: Json;
  readonly document: StreamDocument;
}): readonly FieldProblem[] {
  const { apiVersion, kind, value, document } = object;
  const problems: FieldProblem[] = [];
  const search = { document, problems };
  const named = SHAPE_BY_KIND.get(`Metadata of ${apiVersion.startsWith('rbac.') ? 'Role' : kind}`);
  checkValue(value, named ?? SHAPE_BY_KIND.get('Metadata'), '', document.line, search);
  checkValue(value, SHAPE_BY_KIND.get(kind), '', document.line, search);
  const { spec } = value;
  const config = isRecord(spec) ? spec['config'] : undefined;
  if (kind === 'MachineConfig' && isRecord(config)) {
    const { ignition } = config;
    const isVersion2 = isRecord(ignition) && String(ignition['version']).startsWith('2.');
    const shape = SHAPE_BY_KIND.get(`Ignition ${isVersion2 ? 2 : 3}`);
    checkValue(config, shape, 'spec.config', document.line, search);
  }
  return problems;
}

function checkValue(value: unknown, shape: Shape | undefined, path: string, line: number, search: Search): void {
  if (shape === undefined || value === null || value === undefined) return;
  const { type, container, keyType = '', fields } = shape;
  const add = (what = '', keyLine = line, prefix = ''): void => {
    const code = CONTENTS.test(path)
      ? 'InvalidContents'
      : what === NOT_A_STRING && typeof value !== 'object'
        ? 'NotAString'
        : path.startsWith('metadata.') && (prefix !== '' || typeof value === 'string')
          ? 'InvalidName'
          : 'InvalidValue';
    search.problems.push({ code, text: `${prefix}${path || 'the object'} must ${what}`, line: keyLine });
  };
  if (container === 'list' && !Array.isArray(value)) add('be a list');
  else if ((container === 'mapping' || (container === undefined && fields)) && !isRecord(value)) add('be a mapping');
  else if (container === undefined || type === 'unset') {
    const fault = findFault(value, type);
    if (fault !== undefined) add(fault);
    else if (fields !== undefined) checkFields(value, fields, path, line, search);
  } else {
    for (const [key, item] of Object.entries(value)) {
      const itemPath = container === 'list' ? `${path}[${key}]` : `${path}.${formatKey(key)}`;
      const itemLine = search.document.findLine(value, key);
      const keyFault = keyType === '' ? undefined : findFault(key, keyType);
      if (keyFault !== undefined) add(keyFault, itemLine, 'a key of ');
      const itemShape = { ...shape, container: undefined };
      checkValue(item ?? (container === 'list' ? {} : item), itemShape, itemPath, itemLine, search);
    }
  }
}

function findFault(value: unknown, type: string): string | undefined {
  const choice = [`be one of ${type.split('|').filter(Boolean).join(', ')}`, new RegExp(`^(?:${type})$`)] as const;
  const [must, test] = FIELD_TYPES[type] ?? choice;
  if (typeof test === 'function') return test(value) ? undefined : must;
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof text !== 'string' || !test.test(text)) return must;
  return text === value ? undefined : NOT_A_STRING;
}

function checkFields(
  value: object,
  fields: ReadonlyMap<string, Shape>,
  path: string,
  line: number,
  search: Search,
): void {
  const { document, problems } = search;
  const isIgnition = IGNITION.test(path);
  const seen = new Set<string>();
  const missing = new Set(Array.from(fields, ([name, { isRequired }]) => (isRequired ? name : '')).filter(Boolean));
  const findName = (key: string): string =>
    [...fields.keys()].find((name) => isIgnition && name.toLowerCase() === key.toLowerCase()) ?? key;
  // Go sorts the keys, and then the last one of a field counts.
  const keys = new Map(Array.from(Object.keys(value).sort(), (key) => [findName(key), key]));
  for (const [key, item] of Object.entries(value)) {
    const name = findName(key);
    if (keys.get(name) !== key) continue;
    const shape = fields.get(name) ?? fields.get('*');
    const itemPath = path === '' ? formatKey(key) : `${path}.${formatKey(key)}`;
    const itemLine = document.findLine(value, key);
    if (item !== null && !(Array.isArray(item) && item.length === 0)) missing.delete(name);
    if (shape !== undefined) checkValue(item, shape, itemPath, itemLine, search);
    else if (!key.startsWith('x-')) problems.push({ code: 'UnknownField', text: itemPath, line: itemLine });
    if (shape?.identity === undefined || !Array.isArray(item)) continue;
    for (const [index, each] of (item as unknown[]).entries()) {
      const identity: unknown = isRecord(each) ? each[shape.identity] : each;
      // A path can be only one of a file, a directory or a link.
      const entry = `${shape.identity === 'path' ? '' : key} ${String(identity)}`;
      const text = `${itemPath}[${index}]`;
      if (seen.has(entry)) problems.push({ code: 'DuplicateEntry', text, line: document.findLine(item, index) });
      if (typeof identity === 'string') seen.add(entry);
    }
  }
  for (const name of missing) {
    const text = `${path === '' ? name : `${path}.${name}`} must be set`;
    problems.push({ code: isIgnition ? 'InvalidContents' : 'InvalidValue', text, line });
  }
}

function formatKey(key: string): string {
  return toPrintableLine(key, MAX_KEY_LENGTH);
}
