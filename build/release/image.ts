import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT, runTool } from './run-tool.ts';

const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';

export interface ImageOptions {
  /** Undefined for that of the Containerfile. */
  readonly baseImage: string | undefined;
  /** Contains the files of `npm run build`. */
  readonly dist: string;
  /** The directory that receives the OCI image layout. */
  readonly layout: string;
  readonly platforms: readonly string[];
  /** The time of the image and its files, in seconds since 1970. */
  readonly timestamp: number;
  readonly version: string;
}

/**
 * Builds the last stage of the Containerfile for all platforms, as an OCI image layout with one index
 * (https://github.com/opencontainers/image-spec/blob/main/image-layout.md). The build stage is left out: its files are
 * the same on every platform and machine. So nothing runs in a container.
 * @returns the digest of the index
 */
export async function buildImage({ platforms, layout, dist, ...options }: ImageOptions): Promise<string> {
  const context = await mkdtemp(path.join(tmpdir(), 'mcg-image-'));
  try {
    await writeContext(context, dist);
    for (const platform of platforms) await buildPlatformImage(platform, context, layout, options);
  } finally {
    await rm(context, { recursive: true });
  }
  return await writeIndex(layout, platforms);
}

/** Writes the last stage, without the build stage, and the files that it copies from there. */
async function writeContext(context: string, dist: string): Promise<void> {
  const text = await readFile(path.join(ROOT, 'Containerfile'), 'utf8');
  const baseImage = /^ARG BASE_IMAGE=.*\n/m.exec(text)?.[0] ?? '';
  const lastStage = text.slice(text.lastIndexOf('\nFROM '));
  await writeFile(path.join(context, 'Containerfile'), baseImage + lastStage.replaceAll('--from=build ', ''));
  for (const [, name = ''] of lastStage.matchAll(/ \/build\/(\S+)(?= )/g)) {
    const file = name.startsWith('dist/') ? path.join(dist, path.basename(name)) : path.join(ROOT, name);
    const copy = path.join(context, 'build', name);
    await mkdir(path.dirname(copy), { recursive: true });
    await copyFile(file, copy);
    // The rest of the mode comes from the umask.
    await chmod(copy, ((await stat(file)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

async function buildPlatformImage(
  platform: string,
  context: string,
  layout: string,
  { baseImage, timestamp, version }: Pick<ImageOptions, 'baseImage' | 'timestamp' | 'version'>,
): Promise<void> {
  // A storage of its own: buildah takes a base image that it has already, even that of another platform.
  const storage = await mkdtemp(path.join(tmpdir(), 'mcg-storage-'));
  const buildah = async (...args: readonly string[]): Promise<string> => {
    return await runTool('buildah', [
      '--root',
      path.join(storage, 'root'),
      '--runroot',
      path.join(storage, 'run'),
      ...args,
    ]);
  };
  const name = 'localhost/machineconfig-guard';
  try {
    await buildah(
      'build',
      `--tag=${name}`,
      `--platform=${platform}`,
      `--build-arg=VERSION=${version}`,
      ...(baseImage === undefined ? [] : [`--build-arg=BASE_IMAGE=${baseImage}`]),
      // The image would otherwise contain the time, and the version of buildah.
      `--timestamp=${timestamp}`,
      '--identity-label=false',
      context,
    );
    await buildah('push', name, `oci:${layout}:${platform.replace('/', '-')}`);
  } finally {
    // Without root, only buildah can remove the files of other users in the storage.
    await buildah('rmi', '--all', '--force').catch(() => undefined);
    await rm(storage, { recursive: true, force: true });
  }
}

/** Replaces the images of a layout, one for each platform, by an index of them. Returns its digest. */
async function writeIndex(layout: string, platforms: readonly string[]): Promise<string> {
  const images = await readDescriptors(path.join(layout, 'index.json'));
  const manifests = images.map(({ mediaType, digest, size }, index) => {
    const [os, architecture, variant] = (platforms[index] ?? '').split('/');
    return { mediaType, digest, size, platform: { os, architecture, ...(variant && { variant }) } };
  });
  const content = JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests });
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  await writeFile(toBlob(layout, digest), content);
  const { size } = await stat(toBlob(layout, digest));
  const index = { mediaType: INDEX_TYPE, digest, size };
  await writeFile(path.join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [index] }));
  return digest;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

async function readDescriptors(file: string): Promise<readonly Descriptor[]> {
  return (JSON.parse(await readFile(file, 'utf8')) as { readonly manifests: readonly Descriptor[] }).manifests;
}

function toBlob(layout: string, digest: string): string {
  return path.join(layout, 'blobs', digest.replace(':', '/'));
}
