import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { findAll, listFiles, readFile } from './pages.ts';

const PAGES = ['README.md', ...listFiles('docs').filter((file) => file.endsWith('.md'))];

test('git ignores every folder with private keys that a page tells people to make', () => {
  const commands = PAGES.flatMap((page) =>
    findAll(readFile(page), /^(?:\$ )?(?:node dist\/)?(machineconfig-guard\S* (?:render|certs) .*)$/gm),
  );
  const folders = commands.flatMap((command) => findAll(command, /--out ([a-z][^/ ]*)/g));
  expect(folders).toContain('cluster');
  const ignored = readFile('.gitignore').split('\n');
  expect(folders.filter((folder) => !ignored.includes(`/${folder}/`))).toEqual([]);
});

test('every overlay that runs the guard says first that the image must be set', () => {
  const files = listFiles('manifests/overlays').filter((file) => file.endsWith('/kustomization.yaml'));
  const runsGuard = (file: string) =>
    (parse(readFile(file)) as { readonly resources?: readonly string[] }).resources?.includes('../../base');
  const overlays = files.filter(runsGuard);
  expect(overlays.length).toBeGreaterThan(4);
  expect(overlays.filter((file) => !readFile(file).startsWith('# Set the image first.'))).toEqual([]);
});
