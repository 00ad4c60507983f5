import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BundledPackage } from './bundled-packages.ts';

/** Licenses that allow the distribution of a package in the bundle. */
const ACCEPTED = new Set(
  '0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 ISC MIT Python-2.0 Unlicense'.split(' '),
);
/** node-forge and others offer two licenses. One accepted license is enough. */
const CHOICE = /^\(?(?<first>[\w.-]+) OR (?<second>[\w.-]+)\)?$/;
const LICENSE_FILE = /^(?:licen[cs]e|copying)(?:[-.]|$)/i;

/**
 * Collects name, version and license text of the packages in a bundle.
 *
 * @throws Error if a license is not accepted
 */
export async function thirdPartyLicences(root: string, packages: readonly BundledPackage[]): Promise<string> {
  const texts = await Promise.all(packages.map(async (bundled) => await describeLicense(root, bundled)));
  return [
    `machineconfig-guard is distributed under the Apache License, version 2.0. It contains these packages:`,
    ...texts.toSorted((a, b) => (a < b ? -1 : 1)),
  ].join(`\n\n${'-'.repeat(80)}\n`);
}

async function describeLicense(root: string, { directory, name, version, license }: BundledPackage): Promise<string> {
  const { first = license, second = license } = CHOICE.exec(license)?.groups ?? {};
  if (!ACCEPTED.has(first) && !ACCEPTED.has(second)) {
    throw new Error(`${name} ${version} has the license "${license}", which is not accepted (build/licences.ts)`);
  }
  const folder = path.join(root, directory);
  const files = (await readdir(folder)).filter((file) => LICENSE_FILE.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
  const fallback = `(The package carries no licence text; its package.json says ${license}.)`;
  const text = texts.length === 0 ? fallback : texts.map((content) => content.trim()).join('\n\n');
  return `${name} ${version}\nLicence: ${license}\n\n${text.replaceAll('\r\n', '\n')}`;
}
