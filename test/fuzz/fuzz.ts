import { Random } from '../simulation/random.ts';
import { mutated } from './mutation.ts';
import type { Target } from './targets.ts';

/** A case in which a target did what it must not. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** Tries mutations of a target's seeds; how often each outcome came. Throws a {@link Finding} with what repeats it. */
export function fuzz(target: Target, { cases, seed }: { readonly cases: number; readonly seed: number }) {
  const random = new Random(seed);
  const outcomes: Record<string, number> = {};
  for (let index = 0; index < cases; index += 1) {
    const bytes = mutated(random.pick(target.seeds) ?? Buffer.alloc(0), random);
    try {
      const outcome = target.take(bytes, random);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    } catch (error) {
      const start = bytes.subarray(0, 2_000).toString('base64');
      throw new Finding(`${target.name}, seed ${seed}, case ${index}: ${String(error)}: ${start}`, { cause: error });
    }
  }
  return outcomes;
}
