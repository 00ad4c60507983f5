import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import packageLock from '../../package-lock.json' with { type: 'json' };
import { bundle } from '../bundle.ts';
import { buildExecutables } from './executables.ts';
import { buildImage } from './image.ts';
import { INSTALL_FILES, renderInstallFile } from './install-files.ts';
import { formatKrewManifest, KREW_MANIFEST } from './krew-manifest.ts';
import { packForNpm } from './npm-package.ts';
import { formatReleaseNotes } from './release-notes.ts';
import { ROOT } from './run-tool.ts';

const PROGRAM = 'machineconfig-guard.cjs';

export interface ReleaseOptions {
  /** Receives the files. */
  readonly directory: string;
  /** Undefined for that of the Containerfile. */
  readonly baseImage: string | undefined;
  readonly platforms: readonly string[];
  /** Where the image is pushed to. */
  readonly repository: string;
  /** The time of every file, in seconds since 1970. */
  readonly timestamp: number;
}

export interface Release {
  /** The image by digest. */
  readonly image: string;
  readonly warnings: readonly string[];
}

/**
 * Builds what a release publishes (docs/install.md). The same sources, base image and timestamp give the same files.
 * @throws Error if a part cannot be built, and then removes the directory, or if that contains files
 */
export async function createRelease(options: ReleaseOptions): Promise<Release> {
  const { directory } = options;
  const { version } = packageJson;
  if (packageLock.version !== version) {
    throw new Error(`package-lock.json has the version ${packageLock.version}, not ${version}; run npm install`);
  }
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length > 0) throw new Error(`${directory} is not empty; remove it`);
  try {
    return await fill(options, version);
  } catch (error) {
    await rm(directory, { recursive: true });
    throw error;
  }
}

async function fill(options: ReleaseOptions, version: string): Promise<Release> {
  const { directory, baseImage, platforms, repository, timestamp } = options;
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(path.join(directory, name), text);
  };
  const { notes, warnings } = formatReleaseNotes(await readFile(path.join(ROOT, 'CHANGELOG.md'), 'utf8'), version);

  await bundle(path.join(directory, PROGRAM));
  const layout = path.join(directory, 'image');
  const digest = await buildImage({ baseImage, dist: directory, layout, platforms, timestamp, version });
  await buildExecutables(directory, PROGRAM, timestamp);
  await packForNpm(directory);
  await write(KREW_MANIFEST, await formatKrewManifest(directory, version));
  const image = `${repository}@${digest}`;
  for (const name of INSTALL_FILES) await write(name, renderInstallFile(name, image, version));
  await write('IMAGE', `${image}\n`);
  await write('RELEASE-NOTES.md', `${notes}\nImage: \`${image}\`\n`);
  await write('SHA256SUMS', await formatChecksums(directory));
  return { image, warnings };
}

/** In the format of `sha256sum`, for all files below the directory. */
async function formatChecksums(directory: string): Promise<string> {
  const lines: string[] = [];
  for (const name of (await readdir(directory, { recursive: true })).sort()) {
    const file = path.join(directory, name);
    if (!(await stat(file)).isFile()) continue;
    const hash = createHash('sha256').update(await readFile(file));
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  return lines.join('');
}
