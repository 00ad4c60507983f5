import { Random } from '../simulation/random.ts';
import type { Coverage } from './coverage.ts';
import { mutate } from './mutation.ts';
import type { Target } from './targets.ts';

/** An input that broke a target. The message contains what is necessary to repeat it. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** To read the coverage costs as much as a hundred cases. */
const BATCH_SIZE = 1_000;

/**
 * Runs a target with mutations of its seeds. With coverage, inputs that reach new code become seeds as well.
 *
 * @returns the number of inputs by outcome, and the inputs that reached new code
 * @throws Finding
 */
export function fuzz(target: Target, cases: number, seed: number, coverage?: Coverage) {
  const random = new Random(seed);
  const outcomes: Record<string, number> = {};
  const corpus = [...target.seeds];
  const run = (bytes: Buffer, index?: number): string => {
    try {
      return target.run(bytes, random);
    } catch (error) {
      const input = bytes.subarray(0, 2_000).toString('base64');
      throw new Finding(`${target.name}, seed ${seed}, case ${index}: ${String(error)}: ${input}`, { cause: error });
    }
  };
  for (const bytes of corpus) run(bytes);
  const knownBlocks = new Set(coverage?.takeBlocks());
  for (let start = 0; start < cases; start += BATCH_SIZE) {
    const batch: Buffer[] = [];
    for (let index = start; index < Math.min(cases, start + BATCH_SIZE); index += 1) {
      const bytes = mutate(random.pick(corpus) ?? Buffer.alloc(0), random.pick(corpus) ?? Buffer.alloc(0), random);
      const outcome = run(bytes, index);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      batch.push(bytes);
    }
    const newBlocks = new Set(coverage?.takeBlocks().filter((block) => !knownBlocks.has(block)));
    for (const block of newBlocks) knownBlocks.add(block);
    if (coverage !== undefined) corpus.push(...selectInputs(newBlocks, batch, coverage, run));
  }
  return { outcomes, found: corpus.slice(target.seeds.length) };
}

type Run = (bytes: Buffer) => void;

/** Selects the first input of a batch for each new block, by bisection. */
function selectInputs(newBlocks: Set<string>, batch: Buffer[], coverage: Coverage, run: Run): Buffer[] {
  if (newBlocks.size === 0) return [];
  for (const bytes of batch) run(bytes);
  const reached = coverage.takeBlocks().filter((block) => newBlocks.has(block));
  if (reached.length === 0) return [];
  if (batch.length === 1) {
    for (const block of reached) newBlocks.delete(block);
    return batch;
  }
  const middle = Math.ceil(batch.length / 2);
  const halves = [batch.slice(0, middle), batch.slice(middle)];
  return halves.flatMap((half) => selectInputs(newBlocks, half, coverage, run));
}
