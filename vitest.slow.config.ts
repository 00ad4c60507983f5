import { defineConfig } from 'vitest/config';
import { BUILD_TESTS, COMMON, LARGER_BOUNDS, PROGRAM_TESTS, SWEEPS } from './vitest.config.ts';

const exploration = process.env['MCG_EXPLORATION'] === 'long' ? ['test/exploration/*.test.ts'] : LARGER_BOUNDS;

/** Tests that take too long for `npm test`. `.ci/run` runs them. */
export default defineConfig({
  ...COMMON,
  test: {
    ...COMMON.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'programs',
          include: PROGRAM_TESTS,
          globalSetup: 'test/cli/bundle-programs.ts',
          isolate: false,
        },
      },
      { extends: true, test: { name: 'sweeps', include: SWEEPS, isolate: false } },
      { extends: true, test: { name: 'build', include: BUILD_TESTS } },
      { extends: true, test: { name: 'exploration', include: exploration } },
    ],
  },
});
