import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { defineConfig, type Plugin } from 'vitest/config';

import { WORKERS } from './test/e2e/control-plane/free-ports.ts';

const FOLDER = 'test/e2e';
const FILES = readdirSync(join(import.meta.dirname, FOLDER), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `${FOLDER}/${name}`);
/** The files that share a cluster with one guard process. Floods are among them, which keep both cores busy. */
const GUARDED = FILES.filter((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8').includes('sharedGuardedCluster'),
);

/** Vitest applies `--exclude` to a config without projects only. */
const applyExclude: Plugin = {
  name: 'apply-exclude',
  configureVitest: ({ vitest, project }) => {
    project.config.exclude.push(...(vitest.config.cliExclude ?? []));
  },
};

/** Tests on a real control plane. `npm run test:e2e` finds or builds its binaries, and runs this for each release. */
export default defineConfig({
  plugins: [applyExclude],
  test: {
    // The files of a worker run in one process, so that they can share clusters: see support/shared-clusters.ts.
    isolate: false,
    // Otherwise the durations of earlier runs would decide the order of the files.
    cache: false,
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    // One after another, so that no worker keeps a second shared cluster, which would need processor time.
    projects: [
      {
        extends: true,
        test: {
          name: 'installed',
          include: FILES,
          exclude: GUARDED,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Last, because floods take all of the processor time.
        test: { name: 'guarded', include: GUARDED, maxWorkers: WORKERS, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
