import path from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { listFiles, readFile } from './pages.ts';

const PAGES = [...listFiles('docs').filter((file) => file.endsWith('.md')), 'README.md', 'CHANGELOG.md', 'SECURITY.md'];
const FOLDERS = ['build', 'docs', 'manifests', 'src', 'test'];
const FILES = new Set([...PAGES, 'LICENSE', ...FOLDERS, ...FOLDERS.flatMap((folder) => listFiles(folder))]);

test.each(PAGES)('%s links to files and headings that exist', (page) => {
  const links = [...readFile(page).matchAll(/\]\((?!https?:)([^)#]*?)\/?(?:#([^)]*))?\)/g)];
  const dead = links.filter(([, file = '', anchor]) => {
    const target = file === '' ? page : path.join(path.dirname(page), file);
    return !FILES.has(target) || (anchor !== undefined && !listAnchors(target).includes(anchor));
  });
  expect(dead.map(([link]) => link)).toEqual([]);
});

/** The anchors that GitHub gives the headings of a page. */
function listAnchors(page: string): string[] {
  const headings = [...readFile(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return headings.map((heading) => heading.replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-'));
}

test.each(PAGES)('%s names files and npm scripts that exist', (page) => {
  const files = [...readFile(page).matchAll(/`((?:build|docs|manifests|src|test)\/[^`\s]*?)\/?`/g)];
  expect(files.map(([, file = '']) => file).filter((file) => !FILES.has(file))).toEqual([]);
  const scripts = [...readFile(page).matchAll(/npm run ([\w:-]*\w)/g)].map(([, script = '']) => script);
  expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
});
