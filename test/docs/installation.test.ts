import { expect, test } from 'vitest';
import { PROFILES } from '../../src/install/profiles.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { findAll, listFiles, readFile } from './pages.ts';

test('remote bases name this version', () => {
  const pages = findAll(listFiles('docs').join('\n'), /^(.*\.(?:md|yaml))$/gm);
  const versions = pages.flatMap((page) => findAll(readFile(page), /github\.com\/\S+\/manifests\/[^\s?]+(\S*)/g));
  expect(versions.length).toBeGreaterThan(1);
  expect(new Set(versions)).toEqual(new Set([`?ref=v${packageJson.version}`]));
});

test('docs/install.md names every overlay, and every profile without one', () => {
  const overlays = findAll(listFiles('manifests/overlays').join('\n'), /^manifests\/overlays\/([^/\n]+)$/gm);
  const profiles = PROFILES.filter((profile) => !['fail-closed', 'platform-alert'].includes(profile));
  const named = findAll(readFile('docs/install.md'), /^\| `([a-z][a-z-]*)` \|/gm);
  expect(named.toSorted()).toEqual([...new Set([...overlays, ...profiles])].toSorted());
});
