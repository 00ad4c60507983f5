import { parseArgs } from 'node:util';

import { describeUsageError, parseWholeNumber, UsageError } from '../support/usage.ts';
import { Coverage } from './coverage.ts';
import { Finding, fuzz } from './fuzz.ts';
import { storeSeeds } from './seeds.ts';
import { TARGETS } from './targets.ts';

const HELP = `Runs the guard's parsers with mutated input. Inputs that reach new code are mutated further.

Usage: npm run fuzz [-- --cases N --seed S --only TARGET --keep]

Options:
  --cases N      inputs for each target (default: 260000)
  --help         print this text
  --keep         store inputs that reach new code in test/fuzz/seeds, for npm test
  --only TARGET  one of: ${TARGETS.map(({ name }) => name).join(', ')} (default: all)
  --seed S       seed of the random numbers (default: 1)

Exits with 1 if a target fails, and prints the input in base64. Exits with 2 on wrong usage.
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
  // Most cases end in an expected error, whose stack would cost more than the case.
  Error.stackTraceLimit = 0;
  const coverage = new Coverage();
  for (const target of targets) {
    const startedAt = performance.now();
    const { outcomes, found } = fuzz(target, cases, seed, coverage);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    const counts = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
    const stored = values.keep ? `, ${storeSeeds(target.name, found)} of them stored` : '';
    console.log(`${target.name}: ${cases} cases in ${seconds} s: ${counts.join(', ')}`);
    console.log(`  ${found.length} inputs reached new code${stored}`);
  }
  coverage.stop();
  console.log(`${targets.length * cases} cases, seed ${seed}: no target failed.`);
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
