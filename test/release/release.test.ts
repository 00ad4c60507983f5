import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listFiles } from '../docs/pages.ts';
import { copyRepository, ROOT } from '../support/copy-repository.ts';

const VERSION = '98.7.6';
const EPOCH = 1_700_000_000;
const CREATED = '2023-11-14T22:13:20Z';
const ARCHIVE = `machineconfig-guard-linux-${process.arch === 'x64' ? 'amd64' : 'arm64'}.tar.gz`;
/** Of the layer that the image adds to its base. */
const MAX_LAYER_BYTES = 120e6;

type Descriptors = readonly { readonly digest: string; readonly platform?: object }[];

const directory = mkdtempSync(path.join(tmpdir(), 'mcg-release-test-'));
/** Buildah makes the path a name of an image, so that it needs lower case, which mkdtemp() does not give. */
const baseImage = path.join(tmpdir(), `mcg-base-image-${process.pid}`);
const copies: string[] = [];
let release: string;
let other: string;

beforeAll(async () => {
  writeBaseImages();
  release = await buildRelease('one', '022');
  other = await buildRelease('another/directory', '077');
});

afterAll(() => {
  for (const created of [directory, baseImage, ...copies]) rmSync(created, { recursive: true, force: true });
});

/** Writes base images for amd64 and arm64. Each has one file, because a release runs nothing in its image. */
function writeBaseImages(): void {
  const context = path.join(directory, 'base');
  mkdirSync(context);
  writeFileSync(path.join(context, 'Containerfile'), 'FROM scratch\nCOPY Containerfile /base\nENV PATH=/usr/bin\n');
  const storage = ['--root', path.join(directory, 'storage'), '--runroot', path.join(directory, 'run')];
  const buildah = (...args: readonly string[]) => execFileSync('buildah', [...storage, ...args]);
  buildah('build', '--platform=linux/amd64,linux/arm64', '--manifest=base', context);
  buildah('manifest', 'push', '--all', 'base', `oci:${baseImage}`);
  // Without root, only buildah can remove the files of other users in the storage.
  buildah('rmi', '--all', '--force');
}

/** Builds a release of a copy of the repository with another version. Returns its directory. */
async function buildRelease(name: string, umask: string): Promise<string> {
  const copy = copyRepository();
  copies.push(copy);
  execFileSync('npm', ['version', VERSION, '--no-git-tag-version'], { cwd: copy });
  execFileSync('npm', ['run', 'version'], { cwd: copy });
  // It changes the references in the documentation.
  const page = readFileSync(path.join(copy, 'docs', 'install.md'), 'utf8');
  expect(new Set([...page.matchAll(/\?ref=(.*)$/gm)].map(([, reference]) => reference))).toEqual(
    new Set([`v${VERSION}`]),
  );
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

const blobOf = (digest: string) => path.join('image', 'blobs', digest.replace(':', '/'));
const readBlob = (digest: string): unknown => JSON.parse(readFile(blobOf(digest)));

test('two builds in different directories, with another umask, have the same files, each with a checksum', () => {
  expect(readFileSync(path.join(other, 'SHA256SUMS'), 'utf8')).toBe(readFile('SHA256SUMS'));
  execFileSync('sh', ['-c', 'sha256sum --check --strict --quiet SHA256SUMS'], { cwd: other });
  const files = readdirSync(release, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = files.map(({ parentPath, name }) => path.relative(release, path.join(parentPath, name)));
  const listed = [...readFile('SHA256SUMS').matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)].map(([, name = '']) => name);
  expect([...listed, 'SHA256SUMS'].toSorted()).toEqual(names.toSorted());
  const pages = listFiles('docs').filter((file) => file.endsWith('.md'));
  const text = pages.map((page) => readFileSync(path.join(ROOT, page), 'utf8')).join('\n');
  expect(readdirSync(release).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test('the image adds few files to its base, and has the version and the time of the commit', () => {
  const [index] = (JSON.parse(readFile('image/index.json')) as { manifests: Descriptors }).manifests;
  const { manifests } = readBlob(index?.digest ?? '') as { manifests: Descriptors };
  const platforms = ['amd64', 'arm64'].map((architecture) => ({ os: 'linux', architecture }));
  expect(manifests.map(({ platform }) => platform)).toEqual(platforms);
  for (const { digest } of manifests) {
    const { config, layers } = readBlob(digest) as { config: Descriptors[0]; layers: Descriptors };
    expect(readBlob(config.digest)).toMatchObject({ created: CREATED, config: { Labels: { version: VERSION } } });
    const layer = execFileSync('gunzip', ['--stdout', path.join(release, blobOf(layers[1]?.digest ?? ''))], {
      maxBuffer: 2 * MAX_LAYER_BYTES,
    });
    expect(layer.length).toBeLessThan(MAX_LAYER_BYTES);
    const list = ['--list', '--verbose', '--full-time', '--utc'];
    const lines = execFileSync('tar', list, { input: layer, encoding: 'utf8' }).trimEnd().split('\n');
    expect(lines.filter((line) => !line.includes('2023-11-14 22:13:20'))).toEqual([]);
    const names = lines.map((line) => line.split(' ').at(-1) ?? '').filter((name) => !name.endsWith('/'));
    expect(names).toContain('usr/local/bin/machineconfig-guard');
    expect(names.filter((name) => !/^(?:licenses|usr\/bin|usr\/local\/bin)\//.test(name))).toEqual([]);
  }
  const image = `ghcr.io/machineconfig-guard/machineconfig-guard@${index?.digest}`;
  expect(readFile('IMAGE')).toBe(`${image}\n`);
  expect(readFile('install.yaml')).toContain(`image: ${image}\n`);
});

test('an archive has its files by name, with the time of the commit, and of no user', () => {
  const list = ['--list', '--verbose', '--numeric-owner', '--full-time', '--utc', '--gzip', '--file', ARCHIVE];
  const lines = execFileSync('tar', list, { cwd: release, encoding: 'utf8' }).trimEnd().split('\n');
  expect(lines.filter((line) => !/ 0\/0 +\d+ 2023-11-14 22:13:20 /.test(line))).toEqual([]);
  const names = lines.map((line) => line.split(' ').at(-1) ?? '');
  expect(names).toEqual(names.toSorted());
});

test('the executable runs without Node, also as a plugin of kubectl, and its archive lists Node', () => {
  const unpacked = path.join(directory, 'unpacked');
  mkdirSync(unpacked);
  execFileSync('tar', ['--extract', '--gzip', '--file', path.join(release, ARCHIVE)], { cwd: unpacked });
  const run = (name: string, ...args: string[]): string =>
    execFileSync(path.join(unpacked, name), args, { cwd: unpacked, env: {}, encoding: 'utf8' });

  expect(run('machineconfig-guard', '--version')).toBe(`${VERSION}\n`);
  // node-forge and the manifests.
  run('machineconfig-guard', 'render', '--out', 'openshift', '--image', 'registry.example.com/guard:1');
  symlinkSync('machineconfig-guard', path.join(unpacked, 'kubectl-mcguard'));
  expect(run('kubectl-mcguard', '--help')).toContain('Usage: kubectl mcguard ');
  expect(readdirSync(unpacked)).toEqual(
    expect.arrayContaining(['LICENSE', 'NODE-LICENSE', 'THIRD-PARTY-LICENSES.txt']),
  );
  const sbom = readFileSync(path.join(unpacked, 'sbom.cdx.json'), 'utf8');
  const { components } = JSON.parse(sbom) as { components: unknown[] };
  expect(components.at(-1)).toMatchObject({ name: `node-linux-${process.arch}`, hashes: [{ alg: 'SHA-512' }] });
});

test('Krew validates its manifest and installs the plugin', () => {
  const manifest = path.join(release, 'mcguard.yaml');
  const root = path.join(directory, 'krew');
  const runKrew = (program: string, ...args: string[]) =>
    execFileSync('go', ['run', `sigs.k8s.io/krew/cmd/${program}@v0.4.3`, ...args], {
      cwd: directory,
      env: { ...process.env, KREW_ROOT: root },
    });
  // It would download the archives from the release.
  runKrew('validate-krew-manifest', '-manifest', manifest, '-skip-install');
  runKrew('krew', 'install', '--manifest', manifest, '--archive', path.join(release, ARCHIVE));
  const plugin = path.join(root, 'bin', 'kubectl-mcguard');
  expect(execFileSync(plugin, ['--help'], { encoding: 'utf8' })).toContain('Usage: kubectl mcguard ');
}, 600_000);
