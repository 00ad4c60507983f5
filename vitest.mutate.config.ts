import { defineConfig } from 'vitest/config';

/** The tests of the mutated files. Those of other folders would take hours. */
export default defineConfig({
  test: {
    include: [
      'test/decision/**/*.test.ts',
      'test/rendered-config/*.test.ts',
      'test/references/live-read*.test.ts',
      'test/guard/judge.test.ts',
      'test/cli/restore/restore-plan.test.ts',
    ],
    // A change that makes a test hang counts as found.
    testTimeout: 10_000,
    hookTimeout: 120_000,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
