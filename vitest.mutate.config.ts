import { defineConfig } from 'vitest/config';
import { COMMON, LARGER_BOUNDS, PROGRAM_TESTS } from './vitest.config.ts';

/** The folder of src/ that Stryker changes. */
const { MCG_MUTATED: mutated = '*' } = process.env;
/** Folders without tests of their own, or that others test, too. */
const TESTS_BY_FOLDER: Readonly<Record<string, readonly string[]>> = {
  api: ['api', 'cli/restore', 'mco'],
  common: ['client', 'kube', 'references', 'status'],
  diagnosis: ['diagnosis', 'cli/check'],
  guard: ['guard', 'virtual-time'],
  kube: ['kube', 'virtual-time'],
  mco: ['kube/lists', 'mco'],
  serving: ['serving', 'virtual-time'],
  status: ['status', 'virtual-time'],
};

/**
 * The tests of the changed folder. Those of all folders would take days. Stryker does not know which test needs what
 * `beforeAll` runs, so it would run all of them for each change of that.
 */
export default defineConfig({
  ...COMMON,
  test: {
    ...COMMON.test,
    // Stryker says in a file that the next run replaces which change is active.
    experimental: { fsModuleCache: false },
    include: (TESTS_BY_FOLDER[mutated] ?? [mutated]).map((folder) => `test/${folder}/**/*.test.ts`),
    exclude: ['test/e2e/**', 'test/build/**', ...PROGRAM_TESTS, ...LARGER_BOUNDS],
    // They start programs.
    testNamePattern: /^(?!.*(?:SIGTERM|interrupted))/,
    // Stryker ends a test that hangs because of a change earlier, and counts it as found.
    testTimeout: 60_000,
  },
});
