import { defineConfig } from 'vitest/config';
import { COMMON } from './vitest.config.ts';

/**
 * The tests of the mutated files. Those of other folders would take hours. Stryker does not know which test needs what
 * `beforeAll` runs, so it would run all of them for each change of that.
 */
export default defineConfig({
  ...COMMON,
  test: {
    ...COMMON.test,
    include: [
      'test/{api,certificates,guard,mco,references,rendered-config,review,virtual-time}/*.test.ts',
      'test/cli/{protection,restore,steps,uninstall}/*.test.ts',
    ],
    // They start programs.
    testNamePattern: /^(?!.*(?:SIGTERM|interrupted))/,
    // A change that makes a test hang counts as found.
    testTimeout: 10_000,
  },
});
