import { execFile } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';

const run = promisify(execFile);

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

async function guard(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const options = { cwd: path.dirname(program), env: { PATH: process.env.PATH, NODE_PATH: '' } };
  try {
    // Without `node`, because the test covers the shebang and the mode.
    return { exitCode: 0, ...(await run(program, args, options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exitCode: code, stdout, stderr };
  }
}

test('writes one executable file and the licenses of its packages', () => {
  expect(statSync(program).mode & 0o777).toBe(0o755);
  expect(readdirSync(path.join(root, 'built')).sort()).toEqual([
    'THIRD-PARTY-LICENSES.txt',
    'machineconfig-guard.cjs',
  ]);
  const licenses = readFileSync(path.join(root, 'built', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const packages = Object.keys(metafile.inputs).map(
    (file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1],
  );
  for (const name of new Set(packages.filter((file) => file !== undefined)))
    expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
});

test('contains a working node-forge, and nothing of the demo', async () => {
  expect(await guard('certs', '--out', 'certs')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(Object.keys(metafile.inputs).filter((file) => file.startsWith('src/demo/'))).toEqual([]);
  const stderr = expect.stringContaining('npm ci && npm run demo') as string;
  expect(await guard('demo', '--speed', '1000')).toMatchObject({ exitCode: 1, stderr });
});

test('loads slow packages only when a command needs them', () => {
  const inputs = new Map(Object.entries(metafile.inputs));
  const loaded = new Set(['src/cli/main.ts']);
  for (const file of loaded) {
    for (const { kind, path: imported } of inputs.get(file)?.imports ?? []) {
      if (kind !== 'dynamic-import' && inputs.has(imported)) loaded.add(imported);
    }
  }
  const packages = new Set([...loaded].map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]));
  expect(packages).toContain('commander');
  for (const slow of ['@kubernetes/client-node', 'node-forge', 'express'])
    expect(packages).not.toContain(slow);
  // The bundle contains them nevertheless.
  expect([...inputs.keys()].some((file) => file.includes('node_modules/node-forge/'))).toBe(true);
});
