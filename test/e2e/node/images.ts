import { copyFile, cp, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { cachePath } from '../control-plane/cache.ts';
import { findNode24 } from '../support/node-24.ts';
import { runProcess } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const BASE = 'localhost/machineconfig-guard-base';
/** The oldest commit with a Containerfile. Its manifests are test/e2e/install/manifests-0.1.0.yaml. */
const PREVIOUS_COMMIT = '760c10e5d4b7ea249dd23809ce2b5ac486fd111b';

/** An image as an archive that containerd imports. */
export interface Image {
  readonly name: string;
  readonly archive: string;
}

export interface Images {
  readonly guard: Image;
  readonly pause: Image;
}

/**
 * Builds the image of the guard from the project's Containerfile, and that of a pod's sandbox. The base image has the
 * Node of the real one, and the libraries and the shell of this machine.
 *
 * @param directory a new folder for the archives
 * @param binaries the folder with `pause`
 */
export async function buildImages(directory: string, binaries: string): Promise<Images> {
  const builder = new ImageBuilder(directory);
  await buildBase(builder, directory);
  const guard = 'docker.io/library/machineconfig-guard:0.1.0';
  await builder.build(
    guard,
    ROOT,
    `--build-arg=BASE_IMAGE=${BASE}`,
    '--file=Containerfile',
    '--network=host',
  );
  const pauseContext = join(directory, 'pause');
  await mkdir(pauseContext, { recursive: true });
  await copyFile(join(binaries, 'pause'), join(pauseContext, 'pause'));
  await writeFile(
    join(pauseContext, 'Containerfile'),
    'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n',
  );
  const pause = 'localhost/pause:1';
  await builder.build(pause, pauseContext);
  return { guard: await builder.save(guard, 'guard.tar'), pause: await builder.save(pause, 'pause.tar') };
}

/**
 * Builds the image of the release before this one from its commit.
 *
 * @param directory a new folder for the archive
 */
export async function buildPreviousImage(directory: string): Promise<Image> {
  const builder = new ImageBuilder(directory);
  await buildBase(builder, directory);
  const context = join(directory, 'previous');
  await mkdir(context);
  const archive = join(directory, 'previous-source.tar');
  await runOk('git', '-C', ROOT, 'archive', `--output=${archive}`, PREVIOUS_COMMIT);
  await runOk('tar', '--extract', `--file=${archive}`, `--directory=${context}`);
  const name = 'docker.io/library/machineconfig-guard:previous';
  const bases = [`--build-arg=BUILD_IMAGE=${BASE}`, `--build-arg=RUN_IMAGE=${BASE}`];
  await builder.build(name, context, ...bases, '--network=host');
  return builder.save(name, 'previous.tar');
}

async function buildBase(builder: ImageBuilder, directory: string) {
  const context = join(directory, 'base');
  await writeBaseFiles(context);
  await builder.build(BASE, context);
}

class ImageBuilder {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Unchanged layers come from the cache. */
  async build(name: string, context: string, ...flags: readonly string[]) {
    await this.#buildah('build', '--layers', '--isolation=chroot', `--tag=${name}`, ...flags, context);
  }

  async save(name: string, file: string): Promise<Image> {
    const archive = join(this.#directory, file);
    await this.#buildah('push', name, `docker-archive:${archive}:${name}`);
    return { name, archive };
  }

  async #buildah(...args: readonly string[]) {
    // In a mount and a PID namespace of its own, so that a killed build leaves no mount and no process.
    const isolate = [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      '--propagation=private',
    ];
    const storage = [
      `--root=${cachePath('buildah')}`,
      `--runroot=${join(this.#directory, 'buildah-run')}`,
    ];
    const command = [...isolate, 'buildah', ...storage, '--storage-driver=overlay', ...args];
    const { exitCode, stdout, stderr } = await runProcess('unshare', command, { cwd: ROOT });
    if (exitCode !== 0) throw new Error(`buildah ${args[0]} ended with ${exitCode}:\n${stdout}${stderr}`);
  }
}

/** Writes the context of the base image: Node 24, npm, a shell, `env`, their libraries, and a Containerfile. */
async function writeBaseFiles(context: string) {
  const files = join(context, 'files');
  await mkdir(join(files, 'tmp'), { recursive: true });
  const node = await findNode24();
  const programs = { [node]: '/usr/bin/node', '/bin/sh': '/bin/sh', '/usr/bin/env': '/usr/bin/env' };
  for (const [program, path] of Object.entries(programs)) {
    await copyTo(files, program, path);
    for (const library of await listLibraries(program)) await copyTo(files, library, library);
  }
  await copyTo(files, CA_BUNDLE, CA_BUNDLE);
  const npm = dirname(dirname(await realpath((await runOk('which', 'npm')).trim())));
  await cp(npm, join(files, 'usr/lib/npm'), { recursive: true });
  // Only the build uses npm. It has the registry and the authorities of this machine.
  const registry = (await runOk('npm', 'config', 'get', 'registry')).trim();
  await writeFile(join(files, 'usr/lib/npm/npmrc'), `registry=${registry}\ncafile=${CA_BUNDLE}\n`);
  await symlink('../lib/npm/bin/npm-cli.js', join(files, 'usr/bin/npm'));
  const containerfile = 'FROM scratch\nCOPY files /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n';
  await writeFile(join(context, 'Containerfile'), containerfile);
}

async function copyTo(root: string, from: string, to: string) {
  await mkdir(join(root, dirname(to)), { recursive: true });
  await copyFile(await realpath(from), join(root, to));
}

async function listLibraries(program: string): Promise<readonly string[]> {
  const paths = (await runOk('ldd', program)).matchAll(/(\/\S+) \(0x/g);
  return [...paths].map(([, path = '']) => path);
}

async function runOk(command: string, ...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await runProcess(command, args);
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stderr}`);
  return stdout;
}
