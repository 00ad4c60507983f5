import { expect, test } from 'vitest';
import { compile } from '../../src/manifests/cel.ts';
import { CRD_ENVIRONMENT, OVERLAY_ENVIRONMENT } from '../../src/manifests/evaluate.ts';
import { compileGoRegExp } from '../../src/manifests/go-reg-exp.ts';
import { readSchemaFile } from '../../src/manifests/schema-file.ts';
import { KindCatalog, type Schema } from '../../src/manifests/schemas.ts';

interface Line {
  readonly releases?: readonly string[];
  readonly id?: string;
  readonly kind?: string;
  readonly source?: string;
  readonly schema?: Schema;
}

const LINES = readSchemaFile()
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);
const catalog = KindCatalog.shared();

/** The mappings in a value, except below keys of the name `skipped`. */
function* walk(value: unknown, skipped?: string): Generator<Readonly<Record<string, unknown>>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Readonly<Record<string, unknown>>;
  for (const [key, inner] of Object.entries(value)) if (key !== skipped) yield* walk(inner, skipped);
}

test('names the module of each kind, and each part that a schema contains', () => {
  const [header, ...others] = LINES;
  expect(header?.releases).toEqual(['4.14', '4.15', '4.16', '4.17', '4.18', '4.19', '4.20', '4.21', '4.22', '5.0']);
  const parts = new Set(others.flatMap(({ id }) => (id === undefined ? [] : [id])));
  const kinds = others.filter(({ kind }) => kind !== undefined);
  expect(kinds.filter(({ source }) => !/^\S+@v\S+ \S+$/.test(source ?? ''))).toEqual([]);
  const references = [...walk(others)].flatMap(({ $ref: name }) => (typeof name === 'string' ? [name] : []));
  expect(references.filter((name) => !parts.has(name))).toEqual([]);
  expect(new Set(references).size).toBe(parts.size);
});

test('every pattern and every rule in CEL compiles', () => {
  let rules = 0;
  // Long rules are parts of their own.
  for (const { format, pattern, rule, must, cause } of walk(
    LINES.map(({ schema }) => schema),
    'must',
  )) {
    if (typeof pattern === 'string') expect(() => new RegExp(pattern, 'u')).not.toThrow();
    if (typeof format === 'string' && format.startsWith('/'))
      expect(compileGoRegExp(format.slice(1, -1)), format).toBeDefined();
    if (typeof rule !== 'string') continue;
    rules += 1;
    const environment = must === undefined ? CRD_ENVIRONMENT : OVERLAY_ENVIRONMENT;
    for (const text of typeof cause === 'string' ? [rule, cause] : [rule])
      expect(() => compile(environment, text), text).not.toThrow();
  }
  expect(rules).toBeGreaterThan(300);
});

test.each([
  ['apps/v1', 'Deployment', true, 10],
  ['config.openshift.io/v1', 'Scheduler', false, 10],
  ['machineconfiguration.openshift.io/v1', 'PinnedImageSet', false, 5],
  ['operators.coreos.com/v1alpha1', 'Subscription', true, 10],
  ['internal/ignition/3.5', 'Config', false, 10],
  ['config.openshift.io/v1', 'Frobnicator', false, 0],
])('knows %s %s', (apiVersion, kind, isNamespaced, releases) => {
  const versions = catalog.find(apiVersion, kind);
  expect(new Set(versions.flatMap((version) => version.releases)).size).toBe(releases);
  expect(versions.some((version) => version.isNamespaced)).toBe(isNamespaced);
});
