export interface Action {
  /** Unique in a schedule, and the same in every equivalent one. */
  readonly name: string;
  /** Of two independent actions, the one with the lower rank comes first. */
  readonly rank: number;
  /** The parts of the world that the action depends on. With the highest rank, only {@link perform} knows them. */
  readonly reads: readonly string[];
  /** The parts of the world that the action changes. */
  readonly writes: readonly string[];
  /** Returns all that the action has read. */
  readonly perform: () => Promise<readonly string[]>;
}

/** One execution from the start. It must be deterministic. */
export interface Run {
  actions(): readonly Action[];
  /** Runs in the same state have the same futures. */
  readonly state: string;
  /** The wrong answer, if there is one. */
  readonly violation: string | undefined;
  readonly trace: readonly string[];
  stop(): Promise<void>;
}

export interface Exploration {
  /** Executions from the start. */
  readonly schedules: number;
  readonly states: number;
  /** Different actions in different states. */
  readonly steps: number;
  readonly violation?: { readonly message: string; readonly trace: readonly string[] };
}

/**
 * Executes all schedules by running again from the start, as CHESS does (Musuvathi et al., OSDI 2008), and equivalent
 * ones once:
 *
 * - Directly after an action, no independent one with a lower rank is taken that was possible before. Their other order
 *   leads to the same state. The first order of each set of equivalent ones, sorted by rank, survives this rule.
 * - From each state, each action is taken once. If the first rule leaves it out in one schedule, it can be taken when
 *   another one leads to the same state (Godefroid, "Partial-Order Methods", 1996).
 *
 * The first violation ends the search.
 * @param order `every` switches off the first rule. This must lead to the same states
 */
export async function explore(start: () => Promise<Run>, order: 'first' | 'every' = 'first'): Promise<Exploration> {
  const explored = new Map<string, Set<string>>();
  /** The names of the actions of schedules that were not executed yet. */
  const paths: (readonly string[])[] = [[]];
  let steps = 0;

  /** Returns the next action of this execution, and leaves the others that are new in this state for later ones. */
  const chooseNext = (state: string, path: readonly string[], candidates: readonly Action[]): string | undefined => {
    const known = explored.get(state) ?? new Set<string>();
    explored.set(state, known);
    const fresh = candidates.map(({ name }) => name).filter((name) => !known.has(name));
    for (const name of fresh) known.add(name);
    steps += fresh.length;
    const next = fresh.shift();
    paths.push(...fresh.map((name) => [...path, name]));
    return next;
  };

  const execute = async (run: Run, prefix: readonly string[]): Promise<void> => {
    const path: string[] = [];
    let last: Action | undefined;
    let before: readonly Action[] = [];
    const take = async (name: string): Promise<void> => {
      before = run.actions();
      const action = before.find((candidate) => candidate.name === name);
      if (action === undefined) throw new Error(`not possible when repeated: ${[...path, name].join('; ')}`);
      last = { ...action, reads: await action.perform() };
      path.push(name);
    };
    for (const name of prefix) await take(name);
    while (run.violation === undefined) {
      const isCandidate = (action: Action): boolean =>
        last === undefined || order === 'every' || !isOutOfOrder(action, last, before);
      const next = chooseNext(run.state, path, run.actions().filter(isCandidate));
      if (next === undefined) return;
      await take(next);
    }
  };

  for (let schedules = 1; ; schedules += 1) {
    const path = paths.pop();
    if (path === undefined) return { schedules: schedules - 1, states: explored.size, steps };
    const run = await start();
    await execute(run, path);
    const { violation: message, trace } = run;
    await run.stop();
    if (message !== undefined) return { schedules, states: explored.size, steps, violation: { message, trace } };
  }
}

function isOutOfOrder(action: Action, last: Action, before: readonly Action[]): boolean {
  const isFirst = action.rank < last.rank || (action.rank === last.rank && action.name < last.name);
  return isFirst && isIndependent(action, last) && before.some(({ name }) => name === action.name);
}

function isIndependent(a: Action, b: Action): boolean {
  const accesses = new Set([...b.reads, ...b.writes]);
  return !a.writes.some((part) => accesses.has(part)) && !b.writes.some((part) => a.reads.includes(part));
}
