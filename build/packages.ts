import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import type { Plugin } from 'esbuild';

/** A bill of materials in CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json). */
export interface Sbom {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
  /** The texts of its license files, in base64. */
  readonly evidence?: { readonly licenses?: readonly { readonly license: { readonly text: { content: string } } }[] };
}

const SBOM = 'sbom.cdx.json';
const LICENSES = 'THIRD-PARTY-LICENSES.txt';
/** Licenses that allow the distribution of a package in the bundle. */
const ACCEPTED = new Set(
  '0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BlueOak-1.0.0 ISC MIT Python-2.0 Unlicense'.split(' '),
);
/** Stands for modules without a package, such as those of build/lean-libraries.ts. */
const isVirtual = (name: string) => name.startsWith('VirtualComponent ');

/** Writes a bill of materials of the packages in a bundle beside it. The same bundle gives the same text. */
export const writeSbom: Plugin = cyclonedxEsbuildPlugin({
  specVersion: '1.5',
  outputFile: SBOM,
  gatherLicenseTexts: true,
  outputReproducible: true,
  logLevel: 'silent',
});

/**
 * Moves the texts of the licenses from the bill of materials in a folder into a file of their own.
 * @throws Error if a license is not accepted
 */
export async function extractLicenses(folder: string): Promise<void> {
  const sbom = JSON.parse(await readFile(path.join(folder, SBOM), 'utf8')) as Sbom;
  const packages = sbom.components.filter(({ name }) => !isVirtual(name));
  const texts = packages.map(describeLicense).toSorted((a, b) => (a < b ? -1 : 1));
  const title = `machineconfig-guard is distributed under the Apache License, version 2.0. It contains these packages:`;
  await writeFile(path.join(folder, LICENSES), [title, ...texts].join(`\n\n${'-'.repeat(80)}\n`));
  const components = packages.map((component) => ({ ...component, evidence: undefined }));
  const dependencies = sbom.dependencies
    .filter(({ ref }) => !isVirtual(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => !isVirtual(other)) }));
  await writeFile(path.join(folder, SBOM), `${JSON.stringify({ ...sbom, components, dependencies }, null, 2)}\n`);
}

function describeLicense({ group, name, version, licenses = [], evidence }: Component): string {
  const title = `${group === undefined ? '' : `${group}/`}${name} ${version}`;
  const declared = licenses.map(({ license, expression }) => license?.id ?? expression ?? '').join(' AND ');
  // One accepted license of a choice is enough, such as "(BSD-3-Clause OR GPL-2.0)".
  if (!declared.split(/[() ]+/).some((id) => ACCEPTED.has(id)) || declared.includes(' AND ')) {
    throw new Error(`${title} has the license "${declared}", which is not accepted (build/packages.ts)`);
  }
  const texts = evidence?.licenses?.map(({ license }) => Buffer.from(license.text.content, 'base64').toString().trim());
  const text = texts?.join('\n\n') ?? `(The package carries no license text; its package.json says ${declared}.)`;
  return `${title}\nLicense: ${declared}\n\n${text.replaceAll('\r\n', '\n')}`;
}
