import { defineConfig } from 'vitest/config';

import { PROCESS_VARIABLE, WORKERS } from './test/e2e/control-plane/free-ports.ts';
import { BOOTSTRAP_TESTS, GUARDED_TESTS, NODE_TESTS, OPERATOR_TESTS, OTHER_TESTS } from './test/e2e/test-files.ts';
import { COMMON } from './vitest.config.ts';

/**
 * Tests on a real control plane. `npm run test:e2e` finds or builds its binaries, and runs three processes: one for the
 * project `nodes` and then `bootstrap`, one for `operator`, and one for the other projects.
 */
export default defineConfig({
  test: {
    reporters: ['verbose', './test/support/skipped-tests.ts'],
    experimental: COMMON.test.experimental,
    // The files of a worker run in one process, so that they can share clusters: see test/e2e/support.
    isolate: false,
    // Otherwise the durations of earlier runs would decide the order of the files.
    cache: false,
    retry: 0,
    // For a busy machine. No test is decided by them.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // Programs in Go collect garbage less often: most tests wait for the processor.
    env: { GOGC: '400' },
    maxWorkers: WORKERS,
    projects: [
      {
        extends: true,
        test: { name: 'nodes', include: [...NODE_TESTS], env: { [PROCESS_VARIABLE]: '1' } },
      },
      {
        extends: true,
        test: {
          name: 'bootstrap',
          include: [...BOOTSTRAP_TESTS],
          env: { [PROCESS_VARIABLE]: '1' },
          sequence: { groupOrder: 4 },
        },
      },
      {
        extends: true,
        test: {
          name: 'operator',
          include: [...OPERATOR_TESTS],
          env: { [PROCESS_VARIABLE]: '2' },
          // They share one cluster. Several tests of a file run at once, because they wait most of the time.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      // One project after the other, so that no worker keeps a second shared cluster, which would need processor time.
      { extends: true, test: { name: 'guarded', include: [...GUARDED_TESTS], sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: 'installed', include: [...OTHER_TESTS], sequence: { groupOrder: 2 } } },
    ],
  },
});
