import { Random } from '../support/random.ts';
import { mutate } from './mutation.ts';
import type { Target } from './targets.ts';

/** An input that broke a target. */
export class Finding extends Error {}

/**
 * Runs a target with its seeds and with mutations of them. Returns the number of inputs by outcome.
 *
 * @throws Finding
 */
export function fuzz({ name, seeds, run }: Target, cases: number, seed: number): Record<string, number> {
  const random = new Random(seed);
  const outcomes: Record<string, number> = {};
  for (let index = 0; index < seeds.length + cases; index += 1) {
    const bytes = seeds[index] ?? mutate(random.pick(seeds), random.pick(seeds), random);
    try {
      const outcome = run(bytes, random);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    } catch (error) {
      const input = bytes.subarray(0, 2_000).toString('base64');
      throw new Finding(`${name}, seed ${seed}, case ${index}: ${String(error)}: ${input}`, {
        cause: error,
      });
    }
  }
  return outcomes;
}
