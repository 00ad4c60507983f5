import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { parseSettings, MODES } from '../../src/decision/settings.ts';
import { runProgram } from '../cli/run-program.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const PAGES = (await readdir(path.join(ROOT, 'docs'), { recursive: true }))
  .filter((name) => name.endsWith('.md'))
  .map((name) => path.join('docs', name));

interface Template {
  readonly objectDefinition: { readonly kind: string; readonly metadata: { readonly name: string } };
}

test.each([...PAGES, 'README.md', 'CHANGELOG.md'])('%s: every link leads to a file, and to a heading in it', (page) => {
  const text = readFileSync(path.join(ROOT, page), 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:)(?<file>[^)#]*)(?:#(?<heading>[^)]*))?\)/g)];
  for (const { groups } of links) {
    const target = groups?.['file'] === '' ? page : path.join(path.dirname(page), groups?.['file'] ?? '');
    expect({ target, there: existsSync(path.join(ROOT, target)) }).toEqual({ target, there: true });
    const heading = groups?.['heading'];
    if (heading !== undefined) expect(headings(readFileSync(path.join(ROOT, target), 'utf8'))).toContain(heading);
  }
});

/** As GitHub makes anchors of them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (?<title>.+)$/gm)].map(({ groups }) =>
    (groups?.['title'] ?? '')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

test('every test that the threat model names is there', () => {
  const text = readFileSync(path.join(ROOT, 'docs', 'threat-model.md'), 'utf8');
  const rows = text.split('\n').filter((line) => /^\| \d+ \|/.test(line));
  expect(rows).toHaveLength(20);
  for (const row of rows) {
    const tests = [...row.matchAll(/`(?<file>test\/[^`]+)`/g)].map(({ groups }) => groups?.['file'] ?? '');
    expect(tests.length).toBeGreaterThan(0);
    for (const file of tests) expect({ file, there: existsSync(path.join(ROOT, file)) }).toEqual({ file, there: true });
  }
});

test('the fleet policy sets modes that exist, on the object that counts, and places each by a label', () => {
  const documents = parseAllDocuments(readFileSync(path.join(ROOT, 'docs', 'fleet', 'policy-mode.yaml'), 'utf8'));
  const objects = documents.map(
    (document) => document.toJS() as { kind: string; metadata: { name: string }; spec?: object },
  );
  const policies = objects.filter(({ kind }) => kind === 'Policy');
  for (const { metadata, spec } of policies) {
    const {
      'policy-templates': [template],
    } = spec as { 'policy-templates': { objectDefinition: { spec: { 'object-templates': Template[] } } }[] };
    const guard = template?.objectDefinition.spec['object-templates'][0]?.objectDefinition;
    expect(guard).toMatchObject({ kind: 'MachineConfigGuard', metadata: { name: 'cluster' } });
    expect(parseSettings(guard).problems).toEqual([]);
    expect(MODES.map((mode) => `mcguard-${mode.toLowerCase()}`)).toContain(metadata.name);
    expect(objects.filter((object) => object.metadata.name === metadata.name).map(({ kind }) => kind)).toEqual([
      'Policy',
      'Placement',
      'PlacementBinding',
    ]);
  }
  expect(policies).toHaveLength(2);
});

test('every flag of render in the installation page exists', async () => {
  const text = readFileSync(path.join(ROOT, 'docs', 'install.md'), 'utf8');
  const { stdout } = await runProgram(['render', '--help']);
  const flags = [...text.matchAll(/^\| `(?<flag>--[a-z-]+)/gm)].map(({ groups }) => groups?.['flag'] ?? '');
  expect(flags.length).toBeGreaterThan(5);
  for (const flag of flags) expect(stdout).toContain(flag);
});

test('every overlay in the installation page exists, and none is missing', async () => {
  const text = readFileSync(path.join(ROOT, 'docs', 'install.md'), 'utf8');
  const table = text.slice(text.indexOf('| overlay |'), text.indexOf('They are made of'));
  const named = [...table.matchAll(/^\| `(?<name>[a-z-]+)`/gm)].map(({ groups }) => groups?.['name']);
  expect(new Set(named)).toEqual(new Set(await readdir(path.join(ROOT, 'manifests', 'overlays'))));
});
