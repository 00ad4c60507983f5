import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'test/release/**'],
    // Several tests start real TLS servers; the default 5 s is too near on two cores that others keep busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One second by default; an RSA key alone can take longer there.
    expect: { poll: { timeout: 15_000 } },
    // Most of the time tests wait, for timeouts and for processes to start: more of them at once than there are cores.
    maxWorkers: 4,
  },
});
