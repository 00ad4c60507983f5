import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

// Tests compare texts without styles, also where FORCE_COLOR is set.
delete process.env['FORCE_COLOR'];

/** They replace modules, so each gets a process of its own. */
const MOCKED = ['test/exploration/exploration.test.ts', 'test/status/dangling-reference-detector.test.ts'];
/** `npm run test:slow`: they start programs in processes of their own. */
export const PROGRAM_TESTS = [
  'test/cli/{program,restore/restore,serve/serve}.test.ts',
  'test/manifests/compare-renders.test.ts',
];
/** `npm run test:slow`: they run commands once for each request, format or value. */
export const SWEEPS = ['test/cli/{hostile-values,steps/stopped-runs}.test.ts'];
/** `npm run test:slow`: they build programs or packages. */
export const BUILD_TESTS = ['test/build/{bundle,ci-run,lean-libraries,package}.test.ts'];
export const LARGER_BOUNDS = ['test/exploration/larger-bounds-*.test.ts'];
const OTHER_RUNS = ['test/e2e/**', 'test/release/**', ...PROGRAM_TESTS, ...SWEEPS, ...BUILD_TESTS, ...LARGER_BOUNDS];

/** Keys take longer than most tests, so tests share a few. */
const STORED_KEYS = {
  find: './sign-certificate.ts',
  replacement: new URL('test/support/stored-keys.ts', import.meta.url).pathname,
};

export const COMMON = {
  resolve: { alias: [STORED_KEYS] },
  test: {
    // The next run does not compile again what has not changed, which is a fifth of the processor time.
    experimental: { fsModuleCache: true },
    reporters: ['default', './test/support/skipped-tests.ts'],
    // No test measures time, so one generous limit ends a test that hangs, also on a machine that others keep busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 100_000 } },
    restoreMocks: true,
    unstubEnvs: true,
    // One more than there are cores, because some tests wait, for timeouts and for processes to start. Each worker
    // imports every module, which takes seconds of processor time.
    maxWorkers: availableParallelism() + 1,
  },
} satisfies ViteUserConfig;

export default defineConfig({
  ...COMMON,
  test: {
    ...COMMON.test,
    projects: [
      { extends: true, test: { name: 'mocked', include: MOCKED } },
      {
        extends: true,
        // The files of a worker share imported modules, which take longer than most tests.
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: [...OTHER_RUNS, ...MOCKED], isolate: false },
      },
    ],
  },
});
