import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { CODE_DESCRIPTIONS } from '../../src/api/codes.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
/** What the build reads, and what is packed. */
const SOURCES = ['LICENSE', 'README.md', 'build', 'docs', 'manifests', 'package-lock.json', 'package.json', 'src'];

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
  const dist = ['THIRD-PARTY-LICENSES.txt', 'machineconfig-guard.cjs', 'sbom.cdx.json'].map((name) => `dist/${name}`);
  const names = readdirSync(path.join(ROOT, 'manifests'), { recursive: true, encoding: 'utf8' });
  const manifests = names.filter((name) => /\.\w{4}$/.test(name)).map((name) => `manifests/${name}`);
  const files = ['LICENSE', 'README.md', 'package.json', ...dist, ...manifests].map((name) => `package/${name}`);
  expect(stdout.trimEnd().split('\n').toSorted()).toEqual(files.toSorted());
});

test('npm install adds no other package and runs no script, and neither does npm ci', () => {
  expect(readFileSync(path.join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  const names = readdirSync(path.join(installed, 'node_modules'));
  expect(names).toEqual(['.bin', '.package-lock.json', 'machineconfig-guard']);
  const text = readFileSync(path.join(installed, 'node_modules', 'machineconfig-guard', 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as typeof packageJson;
  expect(Object.keys(scripts).filter((name) => /^(?:(?:pre|post)?install|prepare)$/.test(name))).toEqual([]);
});

test('the program and the plugin run, with node-forge and the page of codes', async () => {
  const runInstalled = async (name: string, ...args: string[]) =>
    await run(installed, path.join('node_modules', '.bin', name), ...args);
  expect(await runInstalled('machineconfig-guard', 'certs', '--out', 'certs')).toMatchObject({ stderr: '' });
  const { stdout } = await runInstalled('kubectl-mcguard', 'explain', 'MCG_DISABLED');
  expect(stdout).toContain(CODE_DESCRIPTIONS.MCG_DISABLED);
});
