import { defineConfig, type Plugin } from 'vitest/config';

import { WORKERS } from './test/e2e/control-plane/free-ports.ts';

const ALL = ['test/e2e/**/*.test.ts'];
/** They load the machine, and have deadlines. */
const BUSY = [
  'test/e2e/hostile/connections.test.ts',
  'test/e2e/hostile/floods.test.ts',
  'test/e2e/outages/silent-connections.test.ts',
  'test/e2e/race/*.test.ts',
];

/** Vitest applies `--exclude` to a config without projects only. */
const applyExclude: Plugin = {
  name: 'apply-exclude',
  configureVitest: ({ vitest, project }) => {
    project.config.exclude.push(...(vitest.config.cliExclude ?? []));
  },
};

/** Tests on a real control plane. `npm run test:e2e` finds or builds its binaries, and runs this for each release. */
export default defineConfig({
  plugins: [applyExclude],
  test: {
    // The files of a worker run in one process, so that they can share clusters: see support/shared-clusters.ts.
    isolate: false,
    // Otherwise the durations of earlier runs would decide the order of the files.
    cache: false,
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    projects: [
      {
        extends: true,
        // Most of the time these files wait, so there are more workers than cores.
        test: { name: 'waiting', include: ALL, exclude: BUSY, maxWorkers: WORKERS, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: 'busy', include: BUSY, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
