import { vi } from 'vitest';
import { LARGER_BOUNDS } from './bounds.ts';
import { testBounds, useExplorationTimers } from './test-bounds.ts';

// Fake timers do not replace node:timers/promises.
vi.mock('node:timers/promises', () => ({ setImmediate: async () => await Promise.resolve() }));

useExplorationTimers();
testBounds(Object.entries(LARGER_BOUNDS).filter((_bound, index) => index % 2 === 0));
