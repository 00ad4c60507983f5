import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**'],
    // Several tests start real TLS servers; the default 5 s is too near on a busy two-core machine.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
