import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type BundledPackage, describePackage } from './bundled-packages.ts';

interface Lockfile {
  readonly name: string;
  readonly version: string;
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly integrity?: string; readonly license?: string }>
  >;
}

/** What the serial number is a hash of. */
interface SbomContent {
  readonly version: number;
  readonly metadata: object;
  readonly components: readonly object[];
}

/** Names of hash algorithms in CycloneDX, by their names in the lockfile (https://www.w3.org/TR/SRI/). */
const ALGORITHMS: Readonly<Record<string, string>> = { sha1: 'SHA-1', sha256: 'SHA-256', sha512: 'SHA-512' };

/**
 * Creates a bill of materials in CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json) of the packages in a bundle, with
 * their hashes from the lockfile. The same bundle gives the same text: the serial number is a hash of the rest, and the
 * time is SOURCE_DATE_EPOCH, if set (https://reproducible-builds.org/specs/source-date-epoch).
 *
 * @param bundle the content of the bundle
 * @throws Error if the lockfile lacks a package or has another version of it
 */
export async function createSbom(root: string, bundle: Buffer, packages: readonly BundledPackage[]): Promise<string> {
  const lockfile = await readLockfile(root);
  const { name, version } = lockfile;
  const epoch = process.env['SOURCE_DATE_EPOCH'];
  return format({
    version: 1,
    metadata: {
      ...(epoch === undefined ? {} : { timestamp: new Date(Number(epoch) * 1_000).toISOString() }),
      component: {
        'bom-ref': `${name}@${version}`,
        type: 'application',
        name,
        version,
        hashes: [{ alg: 'SHA-256', content: createHash('sha256').update(bundle).digest('hex') }],
        licenses: describeLicense(lockfile.packages['']?.license ?? ''),
      },
    },
    components: packages.map((bundled) => describeComponent(bundled, lockfile)),
  });
}

/**
 * Adds a package of another lockfile, such as the Node of an executable, to a bill of materials.
 *
 * @param root the directory of the package and its lockfile
 * @throws Error if the lockfile lacks the package
 */
export async function addPackage(sbom: string, root: string, directory: string): Promise<string> {
  const { version, metadata, components } = JSON.parse(sbom) as SbomContent;
  const added = describeComponent(await describePackage(root, directory), await readLockfile(root));
  return format({ version, metadata, components: [...components, added] });
}

async function readLockfile(root: string): Promise<Lockfile> {
  return JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8')) as Lockfile;
}

function format(content: SbomContent): string {
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const sbom = { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber: `urn:uuid:${toUuid(hash)}`, ...content };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

function describeComponent({ directory, name, version, license }: BundledPackage, { packages }: Lockfile): object {
  const locked = packages[directory];
  if (locked?.version !== version || locked.integrity === undefined) {
    throw new Error(`package-lock.json has no ${name} ${version} in ${directory}; run npm ci`);
  }
  return {
    // Unique, unlike the purl: two directories can contain the same version.
    'bom-ref': directory,
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: locked.integrity.split(' ').map(describeHash),
    licenses: describeLicense(license),
  };
}

function describeHash(integrity: string): object {
  const [algorithm = '', digest = ''] = integrity.split(/-(.*)/);
  const alg = ALGORITHMS[algorithm];
  if (alg === undefined) throw new Error(`unknown hash in package-lock.json: ${integrity}`);
  return { alg, content: Buffer.from(digest, 'base64').toString('hex') };
}

/** A single license or an SPDX expression. */
function describeLicense(license: string): readonly object[] {
  return [license.includes(' ') ? { expression: license } : { license: { id: license } }];
}

/** A UUID of version 8, whose bits are free (RFC 9562, section 5.8). */
function toUuid(hash: string): string {
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `a${hash.slice(17, 20)}`];
  return [...parts, hash.slice(20, 32)].join('-');
}
