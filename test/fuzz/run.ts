import { parseArgs } from 'node:util';

import { describeUsageError, parseWholeNumber, UsageError } from '../support/usage.ts';
import { Coverage } from './coverage.ts';
import { Finding, fuzz } from './fuzz.ts';
import { keepSeeds } from './seeds.ts';
import { TARGETS } from './targets.ts';

const HELP = `Gives what the guard reads from others millions of broken and hostile inputs. What gets further than anything before is broken further.

Usage: npm run fuzz [-- --cases N --seed S --only TARGET --keep]

Options:
  --cases N      for each target (default: 260000)
  --seed S       where the random numbers begin (default: 1)
  --only TARGET  this one: ${TARGETS.map(({ name }) => name).join(', ')} (default: all of them)
  --keep         adds the inputs that got further to test/fuzz/seeds, which npm test takes again
  --help         this text

Ends with 1 where a target does what it must not, and prints the input in base64; 2 for wrong usage.
Example: npm run fuzz -- --only review --cases 50000 --seed 7
`;

function main(): void {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '260000' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const [cases, seed] = [parseWholeNumber('cases', values.cases), parseWholeNumber('seed', values.seed)];
  const targets = TARGETS.filter(({ name }) => values.only === undefined || name === values.only);
  if (targets.length === 0) throw new UsageError(`There is no target ${values.only}.`);
  // Most cases end in an error that a reader makes on purpose; where it was made costs more than the case.
  Error.stackTraceLimit = 0;
  const coverage = new Coverage();
  let total = 0;
  for (const target of targets) {
    const begun = performance.now();
    const { outcomes, found } = fuzz(target, { cases, seed, coverage });
    const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
    const ends = Object.entries(outcomes).map(([outcome, times]) => `${outcome} ${times}`);
    const kept = values.keep ? `, ${keepSeeds(target.name, found)} of them kept` : '';
    console.log(
      `${target.name}: ${cases} cases in ${seconds} s: ${ends.join(', ')}; ${found.length} got further${kept}; ${coverage.size} blocks reached so far`,
    );
    total += cases;
  }
  coverage.stop();
  console.log(`${total} cases, seed ${seed}: nothing happened that must not.`);
}

try {
  main();
} catch (error) {
  const usage = describeUsageError(error);
  if (error instanceof Finding) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else if (usage !== undefined) {
    process.stderr.write(`${usage} See: npm run fuzz -- --help\n`);
    process.exitCode = 2;
  } else {
    throw error;
  }
}
