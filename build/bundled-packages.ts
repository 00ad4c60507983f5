import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile } from 'esbuild';

/** A package of which files are in the bundle. */
export interface BundledPackage {
  /** Relative to the repository, as in the lockfile: `node_modules/NAME`. */
  readonly directory: string;
  readonly name: string;
  readonly version: string;
  /** The SPDX expression in its package.json, or an empty string. */
  readonly license: string;
}

const PACKAGE_DIRECTORY = /^(?<directory>(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** Finds the packages in a bundle, sorted by directory. */
export async function findBundledPackages(root: string, { inputs }: Metafile): Promise<readonly BundledPackage[]> {
  const directories = Object.keys(inputs).map((file) => PACKAGE_DIRECTORY.exec(file)?.groups?.['directory']);
  const unique = [...new Set(directories)].filter((directory) => directory !== undefined).sort();
  return await Promise.all(unique.map(async (directory) => await describePackage(root, directory)));
}

/** @param directory relative to `root`, as in the lockfile */
export async function describePackage(root: string, directory: string): Promise<BundledPackage> {
  const manifest: unknown = JSON.parse(await readFile(path.join(root, directory, 'package.json'), 'utf8'));
  const { name, version, license = '' } = manifest as { name: string; version: string; license?: string };
  return { directory, name, version, license };
}
