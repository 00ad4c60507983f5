import path from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { readPromises, splitTest, toPattern } from '../promises/promises.ts';
import { findAll, listFiles, readFile } from './pages.ts';

const DOCS = findAll(listFiles('docs').join('\n'), /^(.*\.md)$/gm);
const PAGES = ['CHANGELOG.md', 'README.md', 'SECURITY.md', ...DOCS];
const FOLDERS = ['build', 'docs', 'manifests', 'src', 'test'];
const FILES = new Set([...PAGES, 'LICENSE', ...FOLDERS, ...FOLDERS.flatMap((folder) => listFiles(folder))]);

test.each(PAGES)('%s names files, headings and npm scripts that exist', (page) => {
  const links = findAll(readFile(page), /\]\((?!https?:)([^)]*)\)/g);
  const dead = links.filter((link) => {
    const [file, anchor] = link.split('#');
    const target = file ? path.join(path.dirname(page), file).replace(/\/$/, '') : page;
    return !FILES.has(target) || (anchor !== undefined && !listAnchors(target).includes(anchor));
  });
  expect(dead).toEqual([]);
  const files = findAll(readFile(page), /`((?:build|docs|manifests|src|test)\/[^`\s]*)`/g);
  const isFile = (file: string): boolean => FILES.has(file.replace(/\/$/, ''));
  expect(files.filter((file) => !isFile(file))).toEqual([]);
  const scripts = findAll(readFile(page), /npm run ([\w:-]*\w)/g);
  expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
});

/** The anchors that GitHub gives the headings of a page. */
function listAnchors(page: string): string[] {
  const headings = findAll(readFile(page).toLowerCase(), /^#+ (.+)$/gm);
  return headings.map((heading) => heading.replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-'));
}

test.each(readPromises())('a test proves: $promise', (promised) => {
  const { file, title } = splitTest(promised);
  expect(readFile(file).replaceAll("\\'", "'")).toMatch(new RegExp(`(['"\`])${toPattern(title)}\\1`));
});
