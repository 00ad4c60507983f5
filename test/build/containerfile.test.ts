import { execFile } from 'node:child_process';
import { cpSync, readFileSync, statSync } from 'node:fs';
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
  const instructions = lines.filter((line) => line.startsWith(`${keyword} `));
  return instructions.map((line) => line.slice(keyword.length + 1).trim());
}

test('the image has the version of the program and runs `serve` as a user that is not root', () => {
  expect(argumentsOf('USER', RUN_STAGE)).toEqual(['1001']);
  expect(argumentsOf('ENTRYPOINT')).toEqual(['["/usr/local/bin/machineconfig-guard"]']);
  expect(argumentsOf('CMD')).toEqual(['["serve"]']);
  expect(argumentsOf('ARG').at(-1)).toBe(`VERSION=${packageJson.version}`);
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
    // The image does not contain the demo.
    const files = (await readdir(contextPath('dist'))).filter((file) => file !== 'demo.cjs');
    const built = files.map((file) => `/build/dist/${file}`);
    expect(copied.sort()).toEqual([...built, '/build/LICENSE'].sort());
    expect(statSync(contextPath('dist', 'machineconfig-guard.cjs')).mode & 0o111).toBe(0o111);
  });

  test('the same sources give the same bundle in another directory', async () => {
    const other = contextPath('other', 'machineconfig-guard.cjs');
    await bundle(other);
    const first = contextPath('dist', 'machineconfig-guard.cjs');
    expect(readFileSync(first).equals(readFileSync(other))).toBe(true);
  });

  test('the bill of materials lists exactly the production packages', () => {
    const sbom = JSON.parse(readFileSync(contextPath('dist', 'sbom.cdx.json'), 'utf8')) as {
      readonly components: readonly { readonly purl: string }[];
    };
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
    const { packages } = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<
        Record<string, { version: string; dev?: boolean; devOptional?: boolean }>
      >;
    };
    const urls = Object.entries(packages)
      .filter(([file, { dev, devOptional }]) => file !== '' && !dev && !devOptional)
      .map(
        ([file, { version }]) => `${file.replace(/^.*node_modules\//, '').replace('@', '%40')}@${version}`,
      );
    expect(new Set(sbom.components.map(({ purl }) => purl.replace('pkg:npm/', '')))).toEqual(
      new Set(urls),
    );
  });
});
