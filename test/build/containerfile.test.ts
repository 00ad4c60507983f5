import { execFile } from 'node:child_process';
import { cpSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** The instructions without comments, each on one line. */
const INSTRUCTIONS = readFileSync(path.join(ROOT, 'Containerfile'), 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '');
const RUN_STAGE = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex((line) => line.startsWith('FROM ')));
const BUILD_STAGE = INSTRUCTIONS.slice(0, -RUN_STAGE.length);

function argumentsOf(keyword: string, lines = INSTRUCTIONS): string[] {
  const instructions = lines.filter((line) => line.startsWith(`${keyword} `));
  return instructions.map((line) => line.slice(keyword.length + 1).trim());
}

test('the base image has an exact version or a digest', () => {
  const baseImages = argumentsOf('ARG').filter((argument) => argument.includes('/'));
  expect(baseImages.length).toBeGreaterThan(0);
  // The version and release of one build. Red Hat also has tags that move, such as 9.8.
  for (const image of baseImages) expect(image).toMatch(/:\d+\.\d+-\d{10}$|@sha256:[0-9a-f]{64}$/);
  expect(argumentsOf('FROM')).toEqual(['${BASE_IMAGE} AS build', '${BASE_IMAGE}']);
});

test('the image runs `serve` as a user that is not root, and is built without running a program in it', () => {
  expect(argumentsOf('USER', RUN_STAGE)).toEqual(['1001']);
  expect(argumentsOf('ENTRYPOINT')).toEqual(['["/usr/local/bin/machineconfig-guard"]']);
  expect(argumentsOf('CMD')).toEqual(['["serve"]']);
  expect(argumentsOf('RUN', RUN_STAGE)).toEqual([]);
});

describe('in a copy of the files that .containerignore lets through', () => {
  let context: string;
  const contextPath = (...names: string[]): string => path.join(context, ...names);

  beforeAll(async () => {
    context = await mkdtemp(path.join(tmpdir(), 'mcg-image-'));
    const patterns = readFileSync(path.join(ROOT, '.containerignore'), 'utf8').match(/^[^#].*$/gm) ?? [];
    if (patterns[0] !== '*') throw new Error('.containerignore does not exclude everything first');
    for (const name of patterns.slice(1).map((pattern) => pattern.replace('!', ''))) {
      cpSync(path.join(ROOT, name), contextPath(name), { recursive: true });
    }
    await symlink(path.join(ROOT, 'node_modules'), contextPath('node_modules'));
    const [install, build = ''] = argumentsOf('RUN');
    // node_modules already contains these packages.
    if (install !== 'npm ci --ignore-scripts') throw new Error(`unknown instruction ${install}`);
    await promisify(execFile)('sh', ['-c', build], { cwd: context });
  }, 120_000);

  afterAll(async () => {
    await rm(context, { recursive: true });
  });

  test('the build stage copies exactly these files', async () => {
    const sources = argumentsOf('COPY', BUILD_STAGE).flatMap((line) => line.split(/\s+/).slice(0, -1));
    const names = [...sources.map((source) => source.replace(/\/$/, '')), 'dist', 'node_modules'];
    expect((await readdir(context)).sort()).toEqual(names.sort());
  });

  test('the build creates exactly the files that the image copies', async () => {
    const copied = argumentsOf('COPY', RUN_STAGE).flatMap((line) => line.match(/\/build\/\S+/g) ?? []);
    const built = (await readdir(contextPath('dist'))).map((file) => `/build/dist/${file}`);
    expect(copied.sort()).toEqual([...built, '/build/LICENSE', '/build/build/must-gather/gather'].sort());
    expect(statSync(contextPath('build', 'must-gather', 'gather')).mode & 0o111).toBe(0o111);
    expect(statSync(contextPath('dist', 'machineconfig-guard.cjs')).mode & 0o111).toBe(0o111);
  });

  test('the same sources give the same files in another directory', async () => {
    await bundle(contextPath('other', 'machineconfig-guard.cjs'));
    const files = await readdir(contextPath('other'));
    expect(files).toContain('sbom.cdx.json');
    for (const file of files) {
      const [first, second] = ['dist', 'other'].map((folder) => readFileSync(contextPath(folder, file)));
      expect(first?.equals(second ?? Buffer.of())).toBe(true);
    }
  });
});
