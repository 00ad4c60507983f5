// Prints `PASSED FAILED`: the tests that a runner's output, in the file given, says there were; `0 0` where it says nothing.
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

// A picture of text may carry colours even where none were asked for.
const text = stripVTControlCharacters(readFileSync(process.argv[2] ?? '', 'utf8'));

/** Our own runners close with this line, vitest with `Tests  3 failed | 51 passed (54)`. */
const own = [...text.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1);
const vitest = [...text.matchAll(/^\s*Tests\s+(.*)$/gm)].at(-1)?.[1] ?? '';
const counted = (word) => Number(new RegExp(String.raw`(\d+) ${word}`).exec(vitest)?.[1] ?? 0);

console.log(own === undefined ? `${counted('passed')} ${counted('failed')}` : `${own[1]} ${own[2]}`);
