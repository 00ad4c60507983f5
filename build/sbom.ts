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
 * Lets npm create a CycloneDX bill of materials from the lockfile. The same lockfile gives the same file: the serial
 * number is a hash of it, and SOURCE_DATE_EPOCH sets the time
 * (https://reproducible-builds.org/specs/source-date-epoch).
 */
async function createSbom(): Promise<Sbom> {
  const lockfile = await readFile(path.join(ROOT, 'package-lock.json'), 'utf8');
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-sbom-'));
  try {
    const name = await writeProductionTree(directory, JSON.parse(lockfile) as Lockfile);
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: directory, maxBuffer: 64 * 2 ** 20 });
    const sbom = JSON.parse(stdout) as Sbom;
    // npm uses the name of the directory.
    sbom.metadata.component.name = name;
    sbom.serialNumber = `urn:uuid:${toUuid(createHash('sha256').update(lockfile).digest('hex'))}`;
    const epoch = process.env['SOURCE_DATE_EPOCH'];
    if (epoch === undefined) delete sbom.metadata.timestamp;
    else sbom.metadata.timestamp = new Date(Number(epoch) * 1000).toISOString();
    return sbom;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * Writes package.json and the lockfile without development packages and returns the name of the package. As of npm 11,
 * `npm sbom --omit=dev` also omits packages that both production and development need.
 */
async function writeProductionTree(directory: string, lockfile: Lockfile): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { name: string };
  const production = Object.entries(lockfile.packages).filter(([, { dev, devOptional }]) => !dev && !devOptional);
  const root = { ...lockfile.packages[''], devDependencies: undefined };
  const packages = { ...Object.fromEntries(production), '': root };
  const write = async (file: string, content: object): Promise<void> => {
    await writeFile(path.join(directory, file), JSON.stringify(content));
  };
  await write('package.json', { ...manifest, devDependencies: undefined });
  await write('package-lock.json', { ...lockfile, packages });
  return manifest.name;
}

/** A UUID of version 8, whose bits are free (RFC 9562, section 5.8). */
function toUuid(hash: string): string {
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `a${hash.slice(17, 20)}`];
  return [...parts, hash.slice(20, 32)].join('-');
}

const sbom = await createSbom();
await mkdir(path.dirname(OUTPUT), { recursive: true });
await writeFile(OUTPUT, `${JSON.stringify(sbom, null, 2)}\n`);
console.log(`${path.relative(process.cwd(), OUTPUT)}  ${sbom.components.length} components`);
