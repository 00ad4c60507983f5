import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { runCommand } from '../e2e/support/runner.ts';
import { parseWholeNumber } from '../support/usage.ts';

const HELP = `Runs the guard's decisions against a cluster in which everything happens in random order.

Usage: npm run simulate [-- --steps N --seed S --seeds N]

Options:
  --help      print this text
  --seed S    first seed (default: 1)
  --seeds N   number of seeds (default: 8)
  --steps N   steps with each seed (default: 250000)

Exits with 1 if an answer is wrong. The same seed and steps repeat a run.
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
  const args = ['vitest', 'run', 'test/simulation', '--testNamePattern=with seed', '--reporter=verbose'];
  return spawnSync('npx', args, { stdio: 'inherit', env: { ...process.env, ...variables } }).status ?? 1;
}

await runCommand('simulate', simulate);
