// Prints `PASSED FAILED SKIPPED`: the number of tests in the output of a test runner. A test that was skipped without a
// reason counts as failed. Prints `0 0 0` if the output names none.
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

// Output may contain colors even if NO_COLOR is set.
const text = stripVTControlCharacters(readFileSync(process.argv[2] ?? '', 'utf8'));

/** The last line of the runners of this repository. */
const ownTotal = [...text.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1);
/** Each run of Vitest prints `Tests  3 failed | 51 passed | 2 skipped (56)`. */
const vitestTotals = [...text.matchAll(/^\s*Tests\s+(.*)$/gm)].map(([, total]) => total);
const count = (word) => vitestTotals.reduce((sum, total) => sum + Number(total.match(`(\\d+) ${word}`)?.[1] ?? 0), 0);

/** From test/support/skipped-tests.ts. */
const explained = text.match(/^skipped: .*: (?!no reason$)[^:]+$/gm)?.length ?? 0;
const unexplained = Math.max(0, count('skipped') + count('todo') - explained);

const [passed, failed] = ownTotal?.slice(1) ?? [count('passed'), count('failed') + unexplained];
console.log(`${passed} ${failed} ${explained}`);
