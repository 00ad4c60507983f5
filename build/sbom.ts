import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '..');
const OUTPUT = path.join(ROOT, 'dist', 'sbom.cdx.json');

interface Sbom {
  serialNumber: string;
  readonly metadata: { timestamp?: string; readonly component: { name: string } };
  readonly components: readonly object[];
}

interface Lockfile {
  readonly packages: Record<string, { dev?: boolean; devOptional?: boolean; devDependencies?: object }>;
}

/**
 * A CycloneDX bill of the production tree, by npm itself and from the lockfile alone. The same lockfile gives the same file: the
 * serial number is made from it instead of by chance, and there is a time only where SOURCE_DATE_EPOCH says one
 * (https://reproducible-builds.org/specs/source-date-epoch).
 */
async function makeSbom(): Promise<Sbom> {
  const lockfile = await readFile(path.join(ROOT, 'package-lock.json'), 'utf8');
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-sbom-'));
  try {
    const name = await writeProductionTree(directory, JSON.parse(lockfile) as Lockfile);
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: directory, maxBuffer: 64 * 2 ** 20 });
    const sbom = JSON.parse(stdout) as Sbom;
    // npm takes the name of the folder.
    sbom.metadata.component.name = name;
    sbom.serialNumber = `urn:uuid:${uuidFrom(createHash('sha256').update(lockfile).digest('hex'))}`;
    const epoch = process.env['SOURCE_DATE_EPOCH'];
    if (epoch === undefined) delete sbom.metadata.timestamp;
    else sbom.metadata.timestamp = new Date(Number(epoch) * 1000).toISOString();
    return sbom;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * Package file and lockfile without what is for development. Not `npm sbom --omit=dev`: that leaves out, as of npm 11, every
 * package which something for development needs as well.
 */
async function writeProductionTree(directory: string, lockfile: Lockfile): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { name: string };
  const root = { ...lockfile.packages[''] };
  delete root.devDependencies;
  const production = Object.entries(lockfile.packages).filter(([, { dev, devOptional }]) => !dev && !devOptional);
  const packages = { ...Object.fromEntries(production), '': root };
  const write = async (file: string, content: object): Promise<void> => {
    await writeFile(path.join(directory, file), JSON.stringify(content));
  };
  await write('package.json', { ...manifest, devDependencies: undefined });
  await write('package-lock.json', { ...lockfile, packages });
  return manifest.name;
}

/** A UUID of version 8, whose bits are ours to choose (RFC 9562, section 5.8). */
function uuidFrom(hash: string): string {
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `a${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}

const sbom = await makeSbom();
await mkdir(path.dirname(OUTPUT), { recursive: true });
await writeFile(OUTPUT, `${JSON.stringify(sbom, null, 2)}\n`);
console.log(`${path.relative(process.cwd(), OUTPUT)}  ${sbom.components.length} components`);
