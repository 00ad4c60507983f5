import { LARGER_BOUNDS } from './bounds.ts';
import { testBounds } from './test-bounds.ts';

testBounds(Object.entries(LARGER_BOUNDS).filter((_bound, index) => index % 2 === 0));
