import { parseArgs } from 'node:util';
import { log, runCommand } from '../e2e/support/runner.ts';
import { parseWholeNumber, UsageError } from '../support/usage.ts';
import { Finding, fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const HELP = `Runs the guard's parsers with mutated input.

Usage: npm run fuzz [-- --cases N --seed S --only TARGET]

Options:
  --cases N      number of inputs for each target (default: 260000)
  --help         print this text
  --only TARGET  one of: ${TARGETS.map(({ name }) => name).join(', ')} (default: all)
  --seed S       seed of the random numbers (default: 1)

Exits with 1 if a target fails, and prints the input in base64. Exits with 2 on wrong usage.
Example: npm run fuzz -- --only review --cases 50000 --seed 7
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '260000' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [cases, seed] = [parseWholeNumber('cases', values.cases), parseWholeNumber('seed', values.seed)];
  const targets = TARGETS.filter(({ name }) => values.only === undefined || name === values.only);
  if (targets.length === 0) throw new UsageError(`There is no target ${values.only}.`);
  // Most cases end in an expected error, whose stack would cost more than the case.
  Error.stackTraceLimit = 0;
  try {
    for (const target of targets) console.log(target.name, fuzz(target, cases, seed));
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    log(error.message);
    return 1;
  }
  console.log(`${targets.length * cases} cases, seed ${seed}: no target failed.`);
  return 0;
}

await runCommand('fuzz', main);
