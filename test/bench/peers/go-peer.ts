import { mkdir, mkdtemp, readdir, rename } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { cachedBuild, goBuild, hasGo } from '../../e2e/control-plane/go-build.ts';
import { ProcessReaper } from '../../e2e/control-plane/process-reaper.ts';

const MODULE = fileURLToPath(new URL('controller-runtime', import.meta.url));

/** What a table says where there is no Go. */
export const NO_GO = 'There was no Go on this machine: the webhooks in Go were not measured.';

/**
 * The binary of the webhook on controller-runtime: from the cache, else built into it (2 minutes on two cores). Undefined where there is no
 * Go to build it with; says so.
 */
export async function goPeer(log: (line: string) => void): Promise<string | undefined> {
  const sources = (await readdir(MODULE)).filter((file) => /\.go$|^go\.(?:mod|sum)$/.test(file)).sort();
  const directory = await cachedBuild(
    'peers',
    'controller-runtime',
    sources.map((file) => join(MODULE, file)),
  );
  const binary = join(directory, 'controller-runtime');
  if (existsSync(binary)) return binary;
  if (!(await hasGo())) {
    log(NO_GO);
    return undefined;
  }
  log('Building the webhook on controller-runtime from its Go modules, once: about 2 minutes on two cores …');
  await mkdir(join(directory, '..'), { recursive: true });
  const unfinished = await mkdtemp(`${directory}.unfinished-`);
  const reaper = new ProcessReaper(unfinished);
  try {
    const output = join(unfinished, 'controller-runtime');
    await goBuild({ module: MODULE, package: '.', output, ldflags: '-s -w', reaper });
    await mkdir(directory, { recursive: true });
    // In one step, so that whoever finds it finds all of it.
    await rename(output, binary);
  } finally {
    await reaper.reap();
  }
  return binary;
}
