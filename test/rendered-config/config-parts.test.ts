import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { diffSpecs } from '../../src/rendered-config/config-parts.ts';

type Json = Readonly<Record<string, unknown>>;

const DOCUMENT = parseDocument(readFileSync(new URL('config-parts.yaml', import.meta.url), 'utf8'));
const { spec: SPEC, changes } = DOCUMENT.toJS() as {
  readonly spec: Json;
  readonly changes: readonly [string, unknown, string, string, string | null, string | null][];
};

const summarize = (text: string | null) => text?.replace(/^sha256:[0-9a-f]{12}$/, 'DIGEST') ?? null;

test.each(changes)('finds a change of %s to %j', (path, value, kind, name, first, second) => {
  const copy = DOCUMENT.clone();
  copy.setIn(['spec', ...path.split('.')], value);
  const differences = diffSpecs(SPEC, (copy.toJS() as { readonly spec: Json }).spec);
  const summaries = differences.map((each) => ({
    ...each,
    first: summarize(each.first),
    second: summarize(each.second),
  }));
  expect(summaries).toEqual([{ kind, name, first, second }]);
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
