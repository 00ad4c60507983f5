import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { documentedCommands, NEEDS_ANOTHER_MACHINE } from '../e2e/support/documented-page.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, name));
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

const PAGES = [...filesIn('docs', '.md'), 'README.md', 'SECURITY.md', 'CHANGELOG.md'];
const COMMANDS = PAGES.flatMap((page) => documentedCommands(page).map((command) => ({ page, ...command })));
/** The pages that the tests on a real control plane type from. Each of them ends with: nothing of the page is left. */
const TYPED = new Set(
  filesIn('test/e2e', '.test.ts').flatMap((file) => {
    const text = read(file);
    const pages = [...text.matchAll(/DocumentedPage\.read\('(?<page>[^']+)'\)/g)].map(
      ({ groups }) => groups?.['page'] ?? '',
    );
    return /\.left\)+\.toEqual\(\[\]\)/.test(text) ? pages : [];
  }),
);
/** Needs no cluster; that there is such a script is seen below. */
const SCRIPT = /^npm run /;

test('there is something to type', () => {
  expect(COMMANDS.length).toBeGreaterThan(50);
});

describe.each([...new Set(COMMANDS.map(({ page }) => page))])('%s', (page) => {
  test('a test on a real control plane types its commands', () => {
    const left = COMMANDS.filter((command) => command.page === page && !SCRIPT.test(command.line));
    const covered = TYPED.has(page) || left.every(({ line }) => NEEDS_ANOTHER_MACHINE.some(([one]) => one.test(line)));
    expect({ page, left: covered ? [] : left.map(({ line }) => line) }).toEqual({ page, left: [] });
  });
});

test('every script that a page runs is one of package.json', () => {
  const scripts = COMMANDS.flatMap(({ line }) => [...line.matchAll(/npm run (?<script>[\w:-]+)/g)]);
  expect(scripts.length).toBeGreaterThan(1);
  for (const { groups } of scripts) expect(Object.keys(packageJson.scripts)).toContain(groups?.['script']);
});

test('nothing is excepted that no page has', () => {
  for (const [pattern] of NEEDS_ANOTHER_MACHINE) {
    expect({ pattern, used: COMMANDS.some(({ line }) => pattern.test(line)) }).toEqual({ pattern, used: true });
  }
});
