import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..', '..');
/** What the build reads, and what is packed. */
const SOURCES = ['LICENSE', 'README.md', 'build', 'docs', 'manifests', 'package-lock.json', 'package.json', 'src'];
/** npm runs these when it installs a package. */
const INSTALL_SCRIPTS = new Set(['preinstall', 'install', 'postinstall', 'prepare']);

const root = mkdtempSync(path.join(tmpdir(), 'mcg-package-'));
const tarball = path.join(root, `machineconfig-guard-${packageJson.version}.tgz`);
const installed = path.join(root, 'installed');
const env = {
  PATH: process.env.PATH,
  HOME: root,
  npm_config_cache: path.join(root, 'cache'),
  npm_config_offline: 'true',
  // Every request would fail.
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_update_notifier: 'false',
};
const run = async (cwd: string, program: string, ...args: string[]) =>
  await promisify(execFile)(program, args, { cwd, env });

beforeAll(async () => {
  const copy = path.join(root, 'repository');
  for (const name of SOURCES) cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  await run(copy, 'npm', 'pack', '--pack-destination', root);
  mkdirSync(installed);
  await run(installed, 'npm', 'install', tarball);
});

afterAll(() => rmSync(root, { recursive: true }));

test('npm pack builds the program, and packs it with its licenses and the manifests alone', async () => {
  const { stdout } = await run(root, 'tar', '--list', '--file', tarball);
  const files = stdout.trimEnd().split('\n').toSorted();
  expect(files.filter((file) => !file.startsWith('package/manifests/'))).toEqual([
    'package/LICENSE',
    'package/README.md',
    'package/dist/THIRD-PARTY-LICENSES.txt',
    'package/dist/machineconfig-guard.cjs',
    'package/dist/sbom.cdx.json',
    'package/package.json',
  ]);
  const manifests = readdirSync(path.join(ROOT, 'manifests'), { recursive: true, encoding: 'utf8' });
  expect(files).toEqual(
    expect.arrayContaining(
      manifests.filter((name) => name.endsWith('.yaml')).map((name) => `package/manifests/${name}`),
    ),
  );
});

test('npm ci runs no script of a package', () => {
  expect(readFileSync(path.join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
});

test('npm install adds no other package and runs no script', () => {
  expect(readdirSync(path.join(installed, 'node_modules'))).toEqual([
    '.bin',
    '.package-lock.json',
    'machineconfig-guard',
  ]);
  const text = readFileSync(path.join(installed, 'node_modules', 'machineconfig-guard', 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as typeof packageJson;
  expect(Object.keys(scripts).filter((name) => INSTALL_SCRIPTS.has(name))).toEqual([]);
});

test.each(['kubectl-mcguard', 'machineconfig-guard'])('the program %s runs', async (name) => {
  const { stdout } = await run(installed, path.join('node_modules', '.bin', name), 'check', '--help');
  expect(stdout).not.toBe('');
});
