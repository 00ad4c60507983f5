import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { PROFILES } from '../../src/install/profiles.ts';
import packageJson from '../../package.json' with { type: 'json' };
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

test('remote bases name this version', () => {
  const pages = findAll(listFiles('docs').join('\n'), /^(.*\.(?:md|yaml))$/gm);
  const versions = pages.flatMap((page) => findAll(readFile(page), /github\.com\/\S+\/manifests\/[^\s?]+(\S*)/g));
  expect(versions.length).toBeGreaterThan(1);
  expect(new Set(versions)).toEqual(new Set([`?ref=v${packageJson.version}`]));
});

test('docs/install.md names every overlay, and every profile without one', () => {
  const overlays = findAll(listFiles('manifests/overlays').join('\n'), /^manifests\/overlays\/([^/\n]+)$/gm);
  const profiles = PROFILES.filter((profile) => profile !== 'fail-closed');
  const named = findAll(readFile('docs/install.md'), /^\| `([a-z][a-z-]*)` \|/gm);
  expect(named.toSorted()).toEqual([...new Set([...overlays, ...profiles])].toSorted());
});

/** The pages that tell readers to download a release. */
const DOWNLOAD_PAGES = ['README.md', 'docs/install.md', 'docs/fleet/README.md', 'docs/internals/development.md'];

test.each(DOWNLOAD_PAGES)('%s says that no release exists until CHANGELOG.md has one', (page) => {
  const hasRelease = /^## \[?\d+\.\d+\.\d+/m.test(readFile('CHANGELOG.md'));
  expect(readFile(page).replaceAll(/\s+/g, ' ').includes('No release exists yet.')).toBe(!hasRelease);
});
