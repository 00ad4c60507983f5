import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';
import { CODE_DESCRIPTIONS } from '../../src/decision/codes.ts';

let root: string;
let program: string;
let metafile: Metafile;

beforeAll(async () => {
  // Outside of the repository no parent directory has a node_modules.
  root = await mkdtemp(path.join(tmpdir(), 'mcg-bundle-'));
  const built = path.join(root, 'built', 'machineconfig-guard.cjs');
  metafile = await bundle(built);
  await mkdir(path.join(root, 'empty'));
  program = path.join(root, 'empty', 'machineconfig-guard.cjs');
  copyFileSync(built, program);
}, 120_000);

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** Runs the file itself, with its shebang and mode. Fails unless its exit code is 0. */
async function guard(...args: string[]) {
  const options = { cwd: path.dirname(program), env: { PATH: process.env.PATH, NODE_PATH: '' } };
  return await promisify(execFile)(program, args, options);
}

test('writes one executable file, and the licenses and the bill of materials of its packages', () => {
  expect(statSync(program).mode & 0o777).toBe(0o755);
  const files = ['THIRD-PARTY-LICENSES.txt', 'machineconfig-guard.cjs', 'sbom.cdx.json'];
  expect(readdirSync(path.join(root, 'built')).sort()).toEqual(files);
  const licenses = readFileSync(path.join(root, 'built', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const missing = findPackages(Object.keys(metafile.inputs)).filter((name) => !licenses.includes(`\n${name} `));
  expect(missing).toEqual([]);
});

interface Sbom {
  readonly metadata: { readonly component: { readonly hashes: readonly object[] } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes: readonly object[];
  }[];
}

test('the bill of materials lists exactly the packages whose files are in the bundle', () => {
  const sbom = JSON.parse(readFileSync(path.join(root, 'built', 'sbom.cdx.json'), 'utf8')) as Sbom;
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  });
  const names = sbom.components.map(({ name }) => name);
  expect(names.toSorted()).toEqual(findPackages(Object.keys(metafile.inputs)).toSorted());
  expect(names).toContain('express');
  // Production dependencies of the lockfile that the bundle does not contain.
  expect(names).not.toContain('tar-fs');
  expect(names).not.toContain('@types/node');
});

test('the bill of materials has purls, and the hashes of the packages and of the bundle', () => {
  const sbom = JSON.parse(readFileSync(path.join(root, 'built', 'sbom.cdx.json'), 'utf8')) as Sbom;
  const bundleHash = createHash('sha256').update(readFileSync(program)).digest('hex');
  expect(sbom.metadata.component.hashes).toEqual([{ alg: 'SHA-256', content: bundleHash }]);
  const lockfile = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  for (const { name, purl, hashes } of sbom.components) {
    const { version, integrity } = lockfile.packages[`node_modules/${name}`] ?? expect.fail(name);
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    expect(hashes).toEqual([{ alg: 'SHA-512', content }]);
  }
});

test('contains a working node-forge, and nothing of the demo', async () => {
  expect(await guard('certs', '--out', 'certs')).toMatchObject({ stderr: '' });
  expect(Object.keys(metafile.inputs).filter((file) => file.startsWith('src/demo/'))).toEqual([]);
  const stderr = expect.stringContaining('npm ci && npm run demo') as string;
  await expect(guard('demo', '--speed', '1000')).rejects.toMatchObject({ code: 1, stderr });
});

test('explains a code without the repository', async () => {
  const { stdout } = await guard('explain', 'MCG_DISABLED');
  expect(stdout).toContain(CODE_DESCRIPTIONS.MCG_DISABLED);
});

test('loads slow packages only when a command needs them', () => {
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

/** The packages that contain these files. */
function findPackages(files: readonly string[]): string[] {
  const names = files.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? '');
  return [...new Set(names)].filter(Boolean);
}
