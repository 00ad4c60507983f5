import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { ROOT, runTool } from './run-tool.ts';

const NPM_PACKAGE = 'machineconfig-guard.tgz';
/** npm packs these in addition to the `files` of package.json. */
const ALWAYS_PACKED = ['LICENSE', 'README.md', 'package.json'];

/**
 * Packs what `npm pack` packs. npm keeps the modes of files, which depend on the umask of the clone. So it packs a
 * copy.
 * @param directory contains the files of `npm run build` and receives the package
 */
export async function packForNpm(directory: string): Promise<void> {
  const copy = await mkdtemp(path.join(tmpdir(), 'mcg-npm-'));
  try {
    for (const name of [...ALWAYS_PACKED, ...packageJson.files]) {
      const { dir, base } = path.parse(name);
      const file = dir === 'dist' ? path.join(directory, base) : path.join(ROOT, name);
      await cp(file, path.join(copy, name), { recursive: true });
    }
    await runTool('chmod', ['--recursive', 'u=rwX,go=rX', copy]);
    await runTool('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], copy);
    const packed = path.join(directory, `${packageJson.name}-${packageJson.version}.tgz`);
    await rename(packed, path.join(directory, NPM_PACKAGE));
  } finally {
    await rm(copy, { recursive: true });
  }
}
