import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { diffSpecs } from '../../src/rendered-config/config-parts.ts';

const { spec: SPEC, changes } = parse(readFileSync(new URL('config-parts.yaml', import.meta.url), 'utf8')) as {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly changes: readonly [string, unknown, string, string, string | null, string | null][];
};

/** Replaces a value deep in the spec. */
function change(path: string, value: unknown): Record<string, unknown> {
  const copy: Record<string, unknown> = structuredClone(SPEC);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let parent = copy;
  for (const key of keys) parent = parent[key] as Record<string, unknown>;
  parent[last] = value;
  return copy;
}

const summarize = (text: string | null) => text?.replace(/^sha256:[0-9a-f]{12}$/, 'DIGEST') ?? null;

test.each(changes)('finds a change of %s to %j', (path, value, kind, name, first, second) => {
  const differences = diffSpecs(SPEC, change(path, value)).map((difference) => ({
    kind: difference.kind,
    name: difference.name,
    first: summarize(difference.first),
    second: summarize(difference.second),
  }));
  expect(differences).toEqual([{ kind, name, first, second }]);
});

test('finds no difference in another order of keys', () => {
  const reversed = Object.fromEntries(Object.entries(SPEC).toReversed());
  expect(diffSpecs(SPEC, reversed)).toEqual([]);
});

test('sorts differences by kind and name', () => {
  const names = diffSpecs({}, SPEC).map(({ kind, name }) => `${kind} ${name}`);
  expect(names).toEqual(names.toSorted());
  expect(names).toContain('drop-in a.service.d/10.conf');
});
