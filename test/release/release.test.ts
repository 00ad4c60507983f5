import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { measureLayer, readPlatformImages } from '../../build/release/image.ts';
import { writeBaseImages } from './base-image.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const VERSION = '98.7.6';
const EPOCH = 1_700_000_000;
const CREATED = '2023-11-14T22:13:20Z';
/** The program of this machine's architecture. */
const OWN_ARCHIVE = `machineconfig-guard-linux-${process.arch === 'x64' ? 'amd64' : 'arm64'}.tar.gz`;

const directory = mkdtempSync(path.join(tmpdir(), 'mcg-release-test-'));
/** Buildah makes the path a name of an image, so that it needs lower case, which mkdtemp() does not give. */
const baseImage = path.join(tmpdir(), `mcg-base-image-${process.pid}`);
/** The repositories that the releases are built from. */
const copies: string[] = [];
/** The first of two releases, which are built from copies of the repository. */
let release: string;
let other: string;

beforeAll(async () => {
  writeBaseImages(baseImage);
  release = await buildRelease('one', '022');
  other = await buildRelease('another/directory', '077');
});

afterAll(() => {
  for (const created of [directory, baseImage]) rmSync(created, { recursive: true, force: true });
});

/** Builds a release of a copy of the repository with another version. Returns its directory. */
async function buildRelease(name: string, umask: string): Promise<string> {
  const copy = path.join(directory, name, 'repository');
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) cpSync(path.join(ROOT, file), path.join(copy, file));
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  execFileSync('npm', ['version', VERSION, '--no-git-tag-version'], { cwd: copy });
  copies.push(copy);
  const changelog = path.join(copy, 'CHANGELOG.md');
  const section = `## ${VERSION}\n\n[What is new](docs/install.md).\n`;
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace('## Unreleased', `${section}\n## 0.0.1`));
  const out = path.join(directory, name, 'release');
  const args = ['--version', VERSION, '--base-image', `oci:${baseImage}`, '--out', out];
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(EPOCH) };
  const command = `umask ${umask}; exec npm run --silent release -- "$@"`;
  await promisify(execFile)('sh', ['-c', command, 'sh', ...args], { cwd: copy, env });
  return out;
}

function readFile(name: string): string {
  return readFileSync(path.join(release, name), 'utf8');
}

test('two builds in different directories, with another umask, have the same digests', () => {
  expect(readFileSync(path.join(other, 'SHA256SUMS'), 'utf8')).toBe(readFile('SHA256SUMS'));
  execFileSync('sh', ['-c', 'sha256sum --check --strict --quiet SHA256SUMS'], { cwd: other });
});

test('the checksums contain every file', () => {
  const files = readdirSync(release, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = files.map(({ parentPath, name }) => path.relative(release, path.join(parentPath, name)));
  const listed = readFile('SHA256SUMS').matchAll(/^[0-9a-f]{64} {2}(.+)$/gm);
  expect([...listed].map(([, name = '']) => name).toSorted()).toEqual(
    names.filter((name) => name !== 'SHA256SUMS').toSorted(),
  );
});

test('`npm version` changes the references in the documentation', () => {
  const page = readFileSync(path.join(copies[0] ?? '', 'docs', 'install.md'), 'utf8');
  const references = [...page.matchAll(/\?ref=(.*)$/gm)].map(([, reference]) => reference);
  expect(references.length).toBeGreaterThan(2);
  expect(new Set(references)).toEqual(new Set([`v${VERSION}`]));
});

test('docs/release.md names every published file', () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'release.md'), 'utf8');
  expect(readdirSync(release).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('the image of each platform adds less than 120 MB to its base, and has the version and the time', async () => {
  const images = await readPlatformImages(path.join(release, 'image'));

  expect(images.map(({ platform }) => platform)).toEqual(['linux/amd64', 'linux/arm64']);
  for (const { platform, config, created, layers } of images) {
    expect(layers).toHaveLength(2);
    const size = await measureLayer(layers[1] ?? '');
    console.log(`${platform}: ${(size / 1e6).toFixed(1)} MB above the base image`);
    expect(size).toBeLessThan(120e6);
    expect(created).toBe(CREATED);
    expect(config).toMatchObject({ User: '1001', Labels: { version: VERSION } });
    expect(config.Labels).not.toHaveProperty('io.buildah.version');
    const list = ['--list', '--verbose', '--full-time', '--utc', '--gzip', '--file', layers[1] ?? ''];
    const content = execFileSync('tar', list, { encoding: 'utf8' });
    expect(content.match(/ (\S+[^/])$/gm)?.map((name) => name.trim())).toEqual([
      'licenses/LICENSE',
      'licenses/THIRD-PARTY-LICENSES.txt',
      'licenses/sbom.cdx.json',
      'usr/bin/gather',
      'usr/local/bin/machineconfig-guard',
    ]);
    expect(content.split('\n').filter((line) => line !== '' && !line.includes('2023-11-14 22:13:20'))).toEqual([]);
  }
});

test('the manifests name the image by the digest of the layout', () => {
  const index = JSON.parse(readFile('image/index.json')) as { manifests: { digest: string }[] };
  const image = `ghcr.io/machineconfig-guard/machineconfig-guard@${index.manifests[0]?.digest}`;
  expect(readFile('IMAGE')).toBe(`${image}\n`);
  const manifests = readdirSync(release).filter((name) => name.endsWith('.yaml'));
  expect(manifests).toContain('install.yaml');
  for (const name of manifests) {
    const objects = parseAllDocuments(readFile(name)).map((document) => document.toJS() as unknown);
    const containers = [{ image }];
    const deployment = { kind: 'Deployment', spec: { template: { spec: { containers } } } };
    expect(objects).toContainEqual(expect.objectContaining({ kind: 'ValidatingWebhookConfiguration' }));
    expect(objects.filter((object) => (object as { kind: string }).kind === 'Deployment')).toMatchObject([deployment]);
  }
});

test('the release notes are the section of the version, with links to its tag', () => {
  expect(readFile('RELEASE-NOTES.md')).toContain(
    `[What is new](https://github.com/machineconfig-guard/machineconfig-guard/blob/v${VERSION}/docs/install.md).\n`,
  );
  expect(readFile('RELEASE-NOTES.md')).not.toContain('## ');
});

test('the program and the bill of materials have the version', () => {
  const program = path.join(release, 'machineconfig-guard.cjs');
  expect(execFileSync(process.execPath, [program, '--version'], { encoding: 'utf8' })).toBe(`${VERSION}\n`);
  const component = { version: VERSION };
  const timestamp = CREATED.replace('Z', '.000Z');
  expect(JSON.parse(readFile('sbom.cdx.json'))).toMatchObject({ metadata: { timestamp, component } });
});

test('the executable runs without Node, also as a plugin of kubectl', () => {
  const unpacked = path.join(directory, 'unpacked');
  mkdirSync(unpacked);
  execFileSync('tar', ['--extract', '--gzip', '--file', path.join(release, OWN_ARCHIVE)], {
    cwd: unpacked,
  });
  const run = (name: string, ...args: string[]): string =>
    execFileSync(path.join(unpacked, name), args, { cwd: unpacked, env: {}, encoding: 'utf8' });

  expect(run('machineconfig-guard', '--version')).toBe(`${VERSION}\n`);
  expect(run('machineconfig-guard', 'explain', 'MCG_DISABLED')).toContain('MCG_DISABLED');
  // node-forge and the manifests.
  run('machineconfig-guard', 'render', '--out', 'openshift', '--image', 'registry.example.com/guard:1');
  expect(readdirSync(path.join(unpacked, 'openshift')).length).toBeGreaterThan(10);
  symlinkSync('machineconfig-guard', path.join(unpacked, 'kubectl-mcguard'));
  expect(run('kubectl-mcguard', '--help')).toContain('Usage: kubectl mcguard ');
});

test('the archives contain the executable, all licenses, and Node in the bill of materials', () => {
  for (const architecture of ['amd64', 'arm64']) {
    const archive = path.join(release, `machineconfig-guard-linux-${architecture}.tar.gz`);
    const tar = (...args: string[]): string => execFileSync('tar', [...args, '--file', archive], { encoding: 'utf8' });
    expect(tar('--list', '--gzip').split('\n').filter(Boolean)).toEqual([
      './',
      './LICENSE',
      './NODE-LICENSE',
      './THIRD-PARTY-LICENSES.txt',
      './machineconfig-guard',
      './sbom.cdx.json',
    ]);
    const sbom = JSON.parse(tar('--extract', '--gzip', '--to-stdout', './sbom.cdx.json')) as {
      components: unknown[];
    };
    const name = `node-linux-${architecture === 'amd64' ? 'x64' : 'arm64'}`;
    expect(sbom.components.at(-1)).toMatchObject({ name, hashes: [{ alg: 'SHA-512' }] });
  }
});
