import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** They replace modules, so each gets a process of its own. */
const MOCKED = ['test/exploration/*.test.ts', 'test/status/dangling-reference-detector.test.ts'];
/** They start programs in processes of their own. */
const PROCESSES = ['test/cli/{program,completion/completion,dev/dev,restore/restore,serve/serve}.test.ts'];
const OTHER_RUNS = ['test/e2e/**', 'test/release/**'];

/** Keys take longer than most tests. Only test/certificates/rsa-keys.test.ts generates one. */
export const STORED_KEYS = {
  find: './rsa-keys.ts',
  replacement: new URL('test/support/stored-keys.ts', import.meta.url).pathname,
};

export default defineConfig({
  resolve: { alias: [STORED_KEYS] },
  test: {
    reporters: ['default', './test/support/skipped-tests.ts'],
    // No test measures time, so one generous limit ends a test that hangs, also on a machine that others keep busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 100_000 } },
    // The files of a worker share one process.
    restoreMocks: true,
    unstubEnvs: true,
    // Most of the time tests wait, for timeouts and for processes to start: more of them at once than there are cores.
    maxWorkers: 2 * availableParallelism(),
    projects: [
      { extends: true, test: { name: 'mocked', include: MOCKED } },
      {
        extends: true,
        test: {
          name: 'processes',
          include: PROCESSES,
          globalSetup: 'test/cli/bundle-programs.ts',
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...OTHER_RUNS, ...MOCKED, ...PROCESSES],
          // The files of a worker share imported modules and generated keys, which take longer than most tests.
          isolate: false,
        },
      },
    ],
  },
});
