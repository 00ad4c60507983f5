import { execFile } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';

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

test('writes one executable file and the licenses of its packages', () => {
  expect(statSync(program).mode & 0o777).toBe(0o755);
  const files = ['THIRD-PARTY-LICENSES.txt', 'machineconfig-guard.cjs'];
  expect(readdirSync(path.join(root, 'built')).sort()).toEqual(files);
  const licenses = readFileSync(path.join(root, 'built', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const missing = findPackages(Object.keys(metafile.inputs)).filter(
    (name) => !licenses.includes(`\n${name} `),
  );
  expect(missing).toEqual([]);
});

test('contains a working node-forge, and nothing of the demo', async () => {
  expect(await guard('certs', '--out', 'certs')).toMatchObject({ stderr: '' });
  expect(Object.keys(metafile.inputs).filter((file) => file.startsWith('src/demo/'))).toEqual([]);
  const stderr = expect.stringContaining('npm ci && npm run demo') as string;
  await expect(guard('demo', '--speed', '1000')).rejects.toMatchObject({ code: 1, stderr });
});

test('loads slow packages only when a command needs them', () => {
  const inputs = new Map(Object.entries(metafile.inputs));
  const loaded = new Set(['src/cli/main.ts']);
  for (const file of loaded) {
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
