import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../build/bundle.ts';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..', '..');

/** One instruction a line, as a builder reads them: continued lines joined, comments gone. */
const INSTRUCTIONS = readFileSync(path.join(ROOT, 'Containerfile'), 'utf8')
  .split('\n')
  .filter((line) => !line.startsWith('#'))
  .join('\n')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '');
const RUN_STAGE = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex((line) => line.startsWith('FROM ')));

function all(keyword: string, lines = INSTRUCTIONS): string[] {
  return lines.filter((line) => line.startsWith(`${keyword} `)).map((line) => line.slice(keyword.length + 1).trim());
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

let context: string;

/** What a builder sees: a copy of what .containerignore lets through. */
beforeAll(async () => {
  context = await mkdtemp(path.join(tmpdir(), 'mcg-image-'));
  const ignore = readFileSync(path.join(ROOT, '.containerignore'), 'utf8').split('\n');
  if (!ignore.includes('*')) throw new Error('.containerignore does not begin with nothing');
  for (const line of ignore.filter((one) => one.startsWith('!'))) {
    cpSync(path.join(ROOT, line.slice(1)), path.join(context, line.slice(1)), { recursive: true });
  }
});

afterAll(async () => {
  await rm(context, { recursive: true });
});

test('everything that is copied into the build is there, and everything that is let through is copied', async () => {
  const sources = all('COPY', INSTRUCTIONS.slice(0, -RUN_STAGE.length)).flatMap((line) =>
    line.split(/\s+/).slice(0, -1),
  );
  for (const source of sources) expect(existsSync(path.join(context, source))).toBe(true);
  expect((await readdir(context)).sort()).toEqual(sources.map((source) => source.replace(/\/$/, '')).sort());
});

test('replayed without a container: the build makes exactly what the image takes over', async () => {
  // In place of `npm ci`, which fetches the same packages that are here already.
  expect(all('RUN')[0]).toBe('npm ci --ignore-scripts');
  await symlink(path.join(ROOT, 'node_modules'), path.join(context, 'node_modules'));
  const [, second = ''] = all('RUN');
  expect(second).toBe('npm run build && npm run sbom');
  await promisify(execFile)('sh', ['-c', second], { cwd: context });
  const taken = all('COPY', RUN_STAGE).flatMap((line) =>
    line.split(/\s+/).filter((word) => word.startsWith('/build/')),
  );
  const built = (await readdir(path.join(context, 'dist'))).map((file) => `/build/dist/${file}`);
  expect(taken.sort()).toEqual([...built, '/build/LICENSE'].sort());
  expect(statSync(path.join(context, 'dist', 'machineconfig-guard.cjs')).mode & 0o111).toBe(0o111);
}, 120_000);

test('the same sources make the same bundle in another folder', async () => {
  const here = path.join(context, 'once-more', 'machineconfig-guard.cjs');
  await bundle(here);
  expect(sha256(here)).toBe(sha256(path.join(context, 'dist', 'machineconfig-guard.cjs')));
});

test('the image runs as a user that is not root, by number', () => {
  expect(all('USER', RUN_STAGE)).toEqual(['1001']);
  expect(all('ENTRYPOINT')).toEqual(['["/usr/local/bin/machineconfig-guard"]']);
  expect(all('CMD')).toEqual(['["serve"]']);
  expect(all('RUN', RUN_STAGE)).toEqual([]);
});

test('both base images can be exchanged, and are UBI 9 with Node 24', () => {
  expect(all('FROM')).toEqual(['${BUILD_IMAGE} AS build', '${RUN_IMAGE}']);
  expect(all('ARG').slice(0, 2)).toEqual([
    'BUILD_IMAGE=registry.access.redhat.com/ubi9/nodejs-24:latest',
    'RUN_IMAGE=registry.access.redhat.com/ubi9/nodejs-24-minimal:latest',
  ]);
});

test('the version in the labels is that of the program', () => {
  expect(all('ARG')).toContain(`VERSION=${packageJson.version}`);
});

test('the bill of materials: every package of the production tree, and none of the others', async () => {
  const dist = path.join(context, 'dist');
  if (!existsSync(dist)) {
    mkdirSync(dist);
    await promisify(execFile)('npm', ['run', 'sbom'], { cwd: context });
  }
  const sbom = JSON.parse(readFileSync(path.join(dist, 'sbom.cdx.json'), 'utf8')) as {
    bomFormat: string;
    specVersion: string;
    serialNumber: string;
    metadata: { component: { name: string; version: string } };
    components: { purl: string }[];
  };
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    metadata: { component: { name: 'machineconfig-guard' } },
  });
  expect(sbom.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  const wanted = Object.entries(lock.packages)
    .filter(([where, { dev, devOptional }]) => where !== '' && dev !== true && devOptional !== true)
    .map(([where, { version }]) => `pkg:npm/${where.replace(/^.*node_modules\//, '').replace('@', '%40')}@${version}`);
  expect(new Set(sbom.components.map(({ purl }) => purl))).toEqual(new Set(wanted));
});
