import { parseArgs } from 'node:util';

import { fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '400000' }, seed: { type: 'string', default: '1' } },
});
const [cases, seed] = [Number(values.cases), Number(values.seed)];
if (![cases, seed].every((value) => Number.isSafeInteger(value) && value > 0)) {
  process.stderr.write('Usage: npm run fuzz [-- --cases N --seed S]: so many cases for each target, from that seed.\n');
  process.exitCode = 2;
} else {
  for (const target of TARGETS) console.log(target.name, { cases, seed, ...fuzz(target, { cases, seed }) });
}
