import { defineConfig } from 'vitest/config';

/** Tests on a real control plane; `npm run test:e2e` finds or builds its binaries, then runs this once a release. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: ['test/e2e/support/shared-cluster.setup.ts'],
    // One file after the other: they share a cluster and two cores, and some of them measure silence or time.
    fileParallelism: false,
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
