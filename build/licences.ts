import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile } from 'esbuild';

/** Licenses that allow the distribution of a package in the bundle. */
const ACCEPTED = new Set(
  '0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 ISC MIT Python-2.0 Unlicense'.split(' '),
);
/** node-forge and others offer two licenses. One accepted license is enough. */
const CHOICE = /^\(?(?<first>[\w.-]+) OR (?<second>[\w.-]+)\)?$/;
const LICENSE_FILE = /^(?:licen[cs]e|copying)(?:[-.]|$)/i;
const PACKAGE_DIRECTORY = /^(?<directory>(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/**
 * Collects name, version and license text of all packages in a bundle.
 *
 * @throws Error if a license is not accepted
 */
export async function thirdPartyLicences(root: string, { inputs }: Metafile): Promise<string> {
  const directories = Object.keys(inputs).map((file) => PACKAGE_DIRECTORY.exec(file)?.groups?.['directory']);
  const packages = await Promise.all(
    [...new Set(directories)]
      .filter((directory) => directory !== undefined)
      .map(async (directory) => await describePackage(path.join(root, directory))),
  );
  return [
    `machineconfig-guard is distributed under the Apache License, version 2.0. It contains these packages:`,
    ...packages.toSorted((a, b) => (a < b ? -1 : 1)),
  ].join(`\n\n${'-'.repeat(80)}\n`);
}

async function describePackage(directory: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8'));
  const { name, version, license = '' } = manifest as { name: string; version: string; license?: string };
  const { first = license, second = license } = CHOICE.exec(license)?.groups ?? {};
  if (!ACCEPTED.has(first) && !ACCEPTED.has(second)) {
    throw new Error(`${name} ${version} has the license "${license}", which is not accepted (build/licences.ts)`);
  }
  const files = (await readdir(directory)).filter((file) => LICENSE_FILE.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(directory, file), 'utf8')));
  const fallback = `(The package carries no licence text; its package.json says ${license}.)`;
  const text = texts.length === 0 ? fallback : texts.map((content) => content.trim()).join('\n\n');
  return `${name} ${version}\nLicence: ${license}\n\n${text.replaceAll('\r\n', '\n')}`;
}
