/** One of several ways to do the same. */
export interface Contestant {
  readonly name: string;
  /** Does it once and answers how long it took, in milliseconds; or several times at once, with each one's time. */
  readonly once: () => Promise<number | readonly number[]>;
}

export interface InterleaveOptions {
  readonly rounds: number;
  /** Rounds before those that count: connections are opened, code is compiled. */
  readonly warmUp: number;
}

/**
 * Measures all of them in turn, one turn at a time, in every round beginning with another one: what the machine does besides
 * disturbs all of them alike, so that their ratios hold on a busy one too.
 */
export async function interleave(
  contestants: readonly Contestant[],
  { rounds, warmUp }: InterleaveOptions,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const measured = new Map(contestants.map(({ name }) => [name, [] as number[]]));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const index of contestants.keys()) {
      const contestant = contestants[(index + Math.abs(round)) % contestants.length];
      if (contestant === undefined) continue;
      const ms = await contestant.once();
      if (round >= 0) measured.get(contestant.name)?.push(...(typeof ms === 'number' ? [ms] : ms));
    }
  }
  return measured;
}
