import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachePath, fillCache } from '../control-plane/cache.ts';
import { goBuild } from '../control-plane/go-build.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { runOk } from '../support/process.ts';

const MODULE = join(import.meta.dirname, 'go-readers');

/** What go-readers/main.go prints for the text of a file. */
export interface GoReading {
  readonly documents: readonly unknown[] | null;
  readonly object: KubeObject | null;
  readonly bootstrapError: string;
  readonly clusterError: string;
  readonly yaml: string | null;
}

/** Builds the program, or takes it from the cache. Returns a function that reads texts with it. */
export async function buildGoReaders() {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(MODULE, file)));
  const directory = await fillCache(cachePath('go-readers', hash.digest('hex').slice(0, 16)), async (unfinished) => {
    await goBuild({ module: MODULE, package: '.', output: join(unfinished, 'go-readers') });
  });
  return async (texts: readonly string[]): Promise<readonly GoReading[]> => {
    const input = texts.map((text) => `${Buffer.from(text).toString('base64')}\n`).join('');
    const lines = (await runOk(join(directory, 'go-readers'), [], { input })).split('\n').slice(0, -1);
    if (lines.length !== texts.length) throw new Error(`the program read ${lines.length} of ${texts.length} texts`);
    return lines.map((line) => JSON.parse(line) as GoReading);
  };
}
