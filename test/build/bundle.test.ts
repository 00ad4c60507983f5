import { Console } from 'node:console';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';
import { extractLicenses, type Sbom } from '../../build/packages.ts';

const FILES = ['THIRD-PARTY-LICENSES.txt', 'machineconfig-guard.cjs', 'sbom.cdx.json'];

let root: string;
let metafile: Metafile;

beforeAll(async () => {
  // The console of Vitest lacks it, and the plugin for the bill of materials logs with it.
  console.Console = Console;
  root = await mkdtemp(path.join(tmpdir(), 'mcg-bundle-'));
  metafile = await bundle(path.join(root, 'built', 'machineconfig-guard.cjs'));
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

const readBuilt = (file: string, folder = 'built') => readFileSync(path.join(root, folder, file), 'utf8');

test('writes the same files again in another directory', async () => {
  expect(readdirSync(path.join(root, 'built')).sort()).toEqual(FILES);
  await bundle(path.join(root, 'other', 'machineconfig-guard.cjs'));
  for (const file of FILES) expect(readBuilt(file, 'other') === readBuilt(file)).toBe(true);
});

test('lists exactly the packages with code in the bundle, with their licenses', () => {
  const { components } = JSON.parse(readBuilt('sbom.cdx.json')) as Sbom;
  const names = components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`));
  const [output] = Object.values(metafile.outputs);
  const used = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  expect(names.toSorted()).toEqual(findPackages(used.map(([file]) => file)).toSorted());
  expect(names).toContain('express');
  const licenses = readBuilt('THIRD-PARTY-LICENSES.txt');
  expect(names.filter((name) => !licenses.includes(`\n${name} `))).toEqual([]);
  expect(licenses).toContain('Copyright (c) 2009-2014 TJ Holowaychuk');
});

test.each([
  ['GPL-3.0-only', [{ license: { id: 'GPL-3.0-only' } }]],
  ['MIT AND GPL-3.0-only', [{ expression: 'MIT AND GPL-3.0-only' }]],
  ['', []],
])('rejects a package with the license %j', async (declared, licenses) => {
  const folder = await mkdtemp(path.join(root, 'rejected-'));
  const components = [{ name: 'other', version: '1.0.0', licenses }];
  writeFileSync(path.join(folder, 'sbom.cdx.json'), JSON.stringify({ components, dependencies: [] }));
  await expect(extractLicenses(folder)).rejects.toThrow(`other 1.0.0 has the license "${declared}"`);
});

test('contains nothing of the demo, and loads slow packages only when a command needs them', () => {
  expect(Object.keys(metafile.inputs).filter((file) => file.startsWith('test/'))).toEqual([]);
  const inputs = new Map(Object.entries(metafile.inputs));
  const loaded = new Set(['src/cli/main.ts']);
  for (const file of loaded) {
    // Such a module loads its package when a property is read.
    if (file.startsWith('at-first-use:')) continue;
    for (const { kind, path: imported } of inputs.get(file)?.imports ?? []) {
      if (kind !== 'dynamic-import' && inputs.has(imported)) loaded.add(imported);
    }
  }
  const packages = ['@kubernetes/client-node', 'commander', 'express', 'node-forge'];
  expect(findPackages([...inputs.keys()])).toEqual(expect.arrayContaining(packages));
  expect(findPackages([...loaded]).filter((name) => packages.includes(name))).toEqual(['commander']);
});

function findPackages(files: readonly string[]): string[] {
  const names = files.map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? '');
  return [...new Set(names)].filter(Boolean);
}
