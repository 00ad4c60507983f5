import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { runCommand } from '../e2e/support/runner.ts';
import { parseWholeNumber } from '../support/usage.ts';

const HELP = `Runs the guard's own reading and deciding against a cluster in which everything happens in random order.

Usage: npm run simulate [-- --steps N --seed S --seeds N]

Options:
  --steps N   steps a seed (default: 250000)
  --seed S    the first seed (default: 1)
  --seeds N   how many seeds, one after the other (default: 8)
  --help      this text

A run prints what happened, and ends with 1 if the deletion of a config in use was allowed. The same seed and steps
repeat it.
Example: npm run simulate -- --seed 13 --seeds 1 --steps 40000
`;

async function simulate(): Promise<number> {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '250000' },
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '8' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const first = parseWholeNumber('seed', values.seed);
  const seeds = Array.from({ length: parseWholeNumber('seeds', values.seeds) }, (_, index) => first + index);
  const variables = {
    MCG_SIMULATION_STEPS: String(parseWholeNumber('steps', values.steps)),
    MCG_SIMULATION_SEEDS: seeds.join(','),
  };
  const args = [
    'vitest',
    'run',
    'test/simulation',
    '--testNamePattern',
    'with seed',
    '--reporter',
    'verbose',
  ];
  return spawnSync('npx', args, { stdio: 'inherit', env: { ...process.env, ...variables } }).status ?? 1;
}

await runCommand('simulate', simulate);
