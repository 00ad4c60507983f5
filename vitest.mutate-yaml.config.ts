import { defineConfig } from 'vitest/config';
import { COMMON } from './vitest.config.ts';

/** Changes what is installed, field by field: test/install/mutation/. */
export default defineConfig({
  ...COMMON,
  test: { ...COMMON.test, include: ['test/install/mutation/*.mutation.ts'], testTimeout: 3_600_000 },
});
