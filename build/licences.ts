import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile } from 'esbuild';

/** Licences under which parts of the bundle may be passed on together with it. */
const ACCEPTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]);

/** node-forge and the like offer a choice; any part of it that is accepted will do. */
const CHOICE = /^\(?(?<first>[\w.-]+) OR (?<second>[\w.-]+)\)?$/;

/** `LICENSE`, `license.md`, `LICENCE-MIT`, `COPYING` … */
const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:[-.]|$)/i;
const RULE = '-'.repeat(80);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/**
 * The licences of everything that is in a bundle, as text: name, version, licence, and the licence's own words where the package
 * has them. Throws where a package has a licence that is not known to be acceptable.
 */
export async function thirdPartyLicences(root: string, { inputs }: Metafile): Promise<string> {
  const directories = new Set(
    Object.keys(inputs)
      .map((file) => /^(?<directory>(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.groups?.['directory'])
      .filter((directory) => directory !== undefined),
  );
  const packages = await Promise.all(
    [...directories].map(async (directory) => await describe(path.join(root, directory))),
  );
  return [
    `machineconfig-guard is distributed under the Apache License, version 2.0. It contains these packages:`,
    ...packages.toSorted((a, b) => (a < b ? -1 : 1)),
  ].join(`\n\n${RULE}\n`);
}

async function describe(directory: string): Promise<string> {
  const {
    name,
    version,
    license = '',
  } = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8')) as Manifest;
  const { first = license, second = license } = CHOICE.exec(license)?.groups ?? {};
  if (!ACCEPTED.has(first) && !ACCEPTED.has(second)) {
    throw new Error(
      `${name} ${version} has the licence "${license}", which is not known to be acceptable (build/licences.ts)`,
    );
  }
  const files = (await readdir(directory)).filter((file) => LICENCE_FILE.test(file)).sort();
  const texts = await Promise.all(
    files.map(async (file) => (await readFile(path.join(directory, file), 'utf8')).trim()),
  );
  const words =
    texts.length === 0
      ? `(The package carries no licence text; its package.json says ${license}.)`
      : texts.join('\n\n');
  return `${name} ${version}\nLicence: ${license}\n\n${words.replaceAll('\r\n', '\n')}`;
}
