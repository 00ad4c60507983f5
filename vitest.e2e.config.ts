import { defineConfig } from 'vitest/config';

import { WORKERS } from './test/e2e/control-plane/free-ports.ts';

/** Tests on a real control plane. `npm run test:e2e` finds or builds its binaries, and runs this for each release. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    // The files of a worker run in one process, so that they can share clusters: see support/shared-clusters.ts.
    isolate: false,
    // Otherwise the durations of earlier runs would decide the order of the files.
    cache: false,
    // Two files run side by side, because most of them wait most of the time. With three on two cores, floods miss
    // their deadlines, and the run is only a tenth shorter.
    maxWorkers: WORKERS,
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
