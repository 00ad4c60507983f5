import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

function listFiles(folder: string): string[] {
  const entries = readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
}

test('a release changes the version only in package.json and package-lock.json', () => {
  const files = [...['docs', 'manifests', 'src'].flatMap(listFiles), path.join(ROOT, 'Containerfile')];
  const version = new RegExp(
    String.raw`(?<![\d.])${packageJson.version.replaceAll('.', String.raw`\.`)}(?![\d.])`,
  );
  expect(files.filter((file) => version.test(readFileSync(file, 'utf8')))).toEqual([]);
});
