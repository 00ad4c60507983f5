import { defineConfig } from 'vitest/config';

/** Builds whole releases. CI does not run it, because it needs buildah and takes minutes: `npm run test:release`. */
export default defineConfig({
  test: {
    include: ['test/release/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 20 * 60_000,
  },
});
