import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { cachePath, fillCache } from '../control-plane/cache.ts';
import { goBuild } from '../control-plane/go-build.ts';

/** Builds the program of a module in Go whose only source file is `main.go`, or takes it from the cache. */
export async function buildGoProgram(module: string): Promise<string> {
  const name = path.basename(module);
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(path.join(module, file)));
  const directory = await fillCache(cachePath(name, hash.digest('hex').slice(0, 16)), async (unfinished) => {
    await goBuild({ module, package: '.', output: path.join(unfinished, name) });
  });
  return path.join(directory, name);
}
