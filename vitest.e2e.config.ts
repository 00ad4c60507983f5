import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { WORKERS } from './test/e2e/control-plane/free-ports.ts';

/** Tests on a real control plane; `npm run test:e2e` finds or builds its binaries, then runs this once a release. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: ['test/e2e/support/shared-cluster.setup.ts'],
    // Files run side by side because most of them wait for most of their time; each worker has a cluster of its own to share. No more than
    // WORKERS: control planes need the cores, and calls have deadlines.
    maxWorkers: Math.min(WORKERS, availableParallelism()),
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
