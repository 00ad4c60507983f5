import { parseArgs } from 'node:util';
import { log, runCommand } from '../e2e/support/runner.ts';
import { parseWholeNumber } from '../support/usage.ts';
import { Finding, fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const HELP = `Runs the guard's parsers with mutated input.

Usage: npm run fuzz [-- --cases N --seed S]

Options:
  --cases N  number of inputs for each parser (default: 260000)
  --help     print this text
  --seed S   seed of the random numbers (default: 1)

Exits with 1 if a parser fails, and prints the input in base64. Exits with 2 on wrong usage.
Example: npm run fuzz -- --cases 50000 --seed 7
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '260000' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [cases, seed] = [parseWholeNumber('cases', values.cases), parseWholeNumber('seed', values.seed)];
  // Most cases end in an expected error. Its stack would cost more than the case.
  Error.stackTraceLimit = 0;
  try {
    for (const target of TARGETS) console.log(target.name, fuzz(target, cases, seed));
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    log(error.message);
    return 1;
  }
  console.log(`${TARGETS.length * cases} cases, seed ${seed}: no parser failed.`);
  return 0;
}

await runCommand('fuzz', main);
