import { Random } from '../simulation/random.ts';
import type { Coverage } from './coverage.ts';
import { mutated } from './mutation.ts';
import type { Target } from './targets.ts';

/** A case in which a target did what it must not. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

export interface FuzzOptions {
  readonly cases: number;
  readonly seed: number;
  /** Where it is given, inputs that reach what none before them did are mutated further. */
  readonly coverage?: Pick<Coverage, 'look' | 'among'>;
}

export interface Fuzzed {
  /** How often each outcome came. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Inputs that reached something new, in the order in which they were found. */
  readonly found: readonly Buffer[];
}

/** To look at the coverage costs as much as a hundred cases. */
const BATCH = 1_000;

/** Tries mutations of a target's seeds. Throws a {@link Finding} with what repeats it. */
export function fuzz(target: Target, { cases, seed, coverage }: FuzzOptions): Fuzzed {
  const random = new Random(seed);
  const outcomes: Record<string, number> = {};
  const corpus = [...target.seeds];
  const take = (bytes: Buffer, index: number): string => {
    try {
      return target.take(bytes, random);
    } catch (error) {
      const start = bytes.subarray(0, 2_000).toString('base64');
      throw new Finding(`${target.name}, seed ${seed}, case ${index}: ${String(error)}: ${start}`, { cause: error });
    }
  };
  // What the seeds reach is not new.
  for (const bytes of corpus) take(bytes, -1);
  coverage?.look();
  for (let first = 0; first < cases; first += BATCH) {
    const batch: Buffer[] = [];
    for (let index = first; index < Math.min(cases, first + BATCH); index += 1) {
      const bytes = mutated(random.pick(corpus) ?? Buffer.alloc(0), random.pick(corpus) ?? Buffer.alloc(0), random);
      const outcome = take(bytes, index);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (coverage !== undefined) batch.push(bytes);
    }
    if (coverage !== undefined) corpus.push(...thoseThatReached(new Set(coverage.look()), batch, coverage, take));
  }
  return { outcomes, found: corpus.slice(target.seeds.length) };
}

/**
 * Of a batch that has reached something new, the inputs that did: the first for each block. By halves, because each look takes
 * milliseconds.
 */
function thoseThatReached(
  fresh: Set<string>,
  batch: readonly Buffer[],
  coverage: Pick<Coverage, 'look' | 'among'>,
  take: (bytes: Buffer, index: number) => string,
): readonly Buffer[] {
  if (fresh.size === 0) return [];
  for (const bytes of batch) take(bytes, -1);
  const reached = coverage.among(fresh);
  if (reached.length === 0) return [];
  if (batch.length === 1) {
    for (const block of reached) fresh.delete(block);
    return batch;
  }
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)].flatMap((half) => thoseThatReached(fresh, half, coverage, take));
}
