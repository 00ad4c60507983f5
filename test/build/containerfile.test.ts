import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';
import packageJson from '../../package.json' with { type: 'json' };

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
  return lines.filter((line) => line.startsWith(`${keyword} `)).map((line) => line.slice(keyword.length + 1).trim());
}

test('the image runs `serve` as a user that is not root', () => {
  expect(argumentsOf('USER', RUN_STAGE)).toEqual(['1001']);
  expect(argumentsOf('ENTRYPOINT')).toEqual(['["/usr/local/bin/machineconfig-guard"]']);
  expect(argumentsOf('CMD')).toEqual(['["serve"]']);
  expect(argumentsOf('RUN', RUN_STAGE)).toEqual([]);
});

test('both base images are arguments, and the version is that of the program', () => {
  expect(argumentsOf('FROM')).toEqual(['${BUILD_IMAGE} AS build', '${RUN_IMAGE}']);
  const registry = 'registry.access.redhat.com/ubi9';
  expect(argumentsOf('ARG')).toEqual([
    `BUILD_IMAGE=${registry}/nodejs-24:latest`,
    `RUN_IMAGE=${registry}/nodejs-24-minimal:latest`,
    `VERSION=${packageJson.version}`,
  ]);
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
    for (const source of sources) expect(existsSync(contextPath(source))).toBe(true);
    const created = ['dist', 'node_modules'];
    const names = [...sources.map((source) => source.replace(/\/$/, '')), ...created];
    expect((await readdir(context)).sort()).toEqual(names.sort());
  });

  test('the build creates exactly the files that the image copies', async () => {
    const copied = argumentsOf('COPY', RUN_STAGE).flatMap((line) => line.match(/\/build\/\S+/g) ?? []);
    // The image does not contain the demo.
    const files = (await readdir(contextPath('dist'))).filter((file) => file !== 'demo.cjs');
    const built = files.map((file) => `/build/dist/${file}`);
    expect(copied.sort()).toEqual([...built, '/build/LICENSE'].sort());
    expect(statSync(contextPath('dist', 'machineconfig-guard.cjs')).mode & 0o111).toBe(0o111);
  });

  test('the same sources give the same bundle in another directory', async () => {
    const other = contextPath('other', 'machineconfig-guard.cjs');
    await bundle(other);
    const [first, second] = [contextPath('dist', 'machineconfig-guard.cjs'), other].map((file) =>
      createHash('sha256').update(readFileSync(file)).digest('hex'),
    );
    expect(first).toBe(second);
  });

  test('the bill of materials lists exactly the production packages', () => {
    const sbom = JSON.parse(readFileSync(contextPath('dist', 'sbom.cdx.json'), 'utf8')) as {
      readonly serialNumber: string;
      readonly components: readonly { readonly purl: string }[];
    };
    const component = { name: 'machineconfig-guard' };
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', metadata: { component } });
    expect(sbom.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const { packages } = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { version: string; dev?: boolean; devOptional?: boolean }>>;
    };
    const urls = Object.entries(packages)
      .filter(([file, { dev, devOptional }]) => file !== '' && dev !== true && devOptional !== true)
      .map(([file, { version }]) => [file.replace(/^.*node_modules\//, '').replace('@', '%40'), version])
      .map(([name, version]) => `pkg:npm/${name}@${version}`);
    expect(new Set(sbom.components.map(({ purl }) => purl))).toEqual(new Set(urls));
  });
});
