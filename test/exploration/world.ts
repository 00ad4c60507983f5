import { hash } from 'node:crypto';
import { vi } from 'vitest';
import type { Change } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { type Bound, type Event, IS_LONG } from './bounds.ts';
import type { Call, Fault } from './controlled-api.ts';
import { type BrokenGuard, ExploredGuard } from './explored-guard.ts';
import type { Action, Run } from './explorer.ts';
import { ReviewedDeletion } from './reviewed-deletion.ts';
import { type ReferrerName, TwoConfigCluster, type Write } from './two-config-cluster.ts';
import type { Code } from '../../src/api/codes.ts';
import { POOLS, REFERRER_RESOURCES } from '../../src/mco/resources.ts';

interface Step extends Omit<Action, 'perform'> {
  readonly event?: Event | undefined;
  readonly perform: () => Promise<void> | void;
}

/** Late in a second, because the API server cuts the fractions of its times. */
const START = new Date('2026-01-01T00:00:00.900Z');
/** Longer than each pause and timeout, except for the deadline, which three of them exceed. */
const DELAY_MS = 1_300;
const DELAY_STEP_MS = 50;
/** Longer than the first pause of a reflector. */
const RELIST_MS = 400;
const RANKS = { write: 0, deliver: 1, serve: 2, guard: 3 };

/** The real one. A world replaces the global. */
const realSetImmediate = setImmediate;

/**
 * A cluster and a guard in which the scheduler owns every await: both halves of each call, watch events, turns of the
 * event loop, and time. The caller enables `vi.useFakeTimers`.
 */
export class World implements Run {
  readonly trace: string[] = [];
  readonly #bound: Bound;
  readonly #onEnd: (codes: readonly Code[]) => void;
  readonly #cluster: TwoConfigCluster;
  /** One for each replica. */
  readonly #guards: ExploredGuard[];
  readonly #broken: BrokenGuard | undefined;
  readonly #deletions: ReviewedDeletion[] = [];
  readonly #turns: (() => void)[] = [];
  readonly #counts = {
    writes: 0,
    deliveries: 0,
    malformed: 0,
    deletions: 0,
    faults: 0,
    deadlines: 0,
    delays: 0,
    relists: 0,
    restarts: 0,
  };

  /** Starts a guard whose index has listed everything. */
  static async start(...args: ConstructorParameters<typeof World>): Promise<World> {
    const world = new World(...args);
    await settle();
    vi.advanceTimersByTime(args[0].watchedMs ?? 0);
    return world;
  }

  /** @param onEnd is called with the answers */
  constructor(
    bound: Bound,
    namingA: readonly ReferrerName[],
    broken?: BrokenGuard,
    onEnd: (codes: readonly Code[]) => void = () => {},
  ) {
    vi.clearAllTimers();
    vi.setSystemTime(START);
    vi.stubGlobal('setImmediate', (turn: () => void) => void this.#turns.push(turn));
    this.#bound = bound;
    this.#onEnd = onEnd;
    this.#broken = broken;
    this.#cluster = new TwoConfigCluster(namingA, bound.holdMs !== undefined, bound.watchedMs !== undefined);
    const suffixes = bound.replicas === undefined ? [''] : [' of replica 1', ' of replica 2'];
    this.#guards = suffixes.map((suffix) => this.#startGuard(suffix));
    this.trace.push(`at the start, A is named by ${this.#cluster.describeReferrers()}`);
  }

  get state(): string {
    const deletions = this.#deletions.map(({ state }) => state);
    const guards = this.#guards.map(({ state }) => state);
    const state = [this.#counts, Date.now(), this.#cluster.state, guards, this.#turns.length, deletions];
    return hash('sha1', JSON.stringify(state));
  }

  get violation(): string | undefined {
    const isUndisturbed = this.#counts.faults + this.#counts.delays === 0;
    const { holdMs = 0 } = this.#bound;
    const violations = this.#deletions.map((deletion) => deletion.findViolation(holdMs, isUndisturbed));
    const isWaiting = this.#deletions.some(({ code }) => code === undefined);
    const isListing = this.#calls.some(({ reads, resource }) => reads.includes(resource));
    if (isListing && !isWaiting) violations.push('the guard lists for no review');
    return violations.find((violation) => violation !== undefined);
  }

  actions(): readonly Action[] {
    const waiting = this.#deletions.filter(({ code }) => code === undefined);
    const isLeft = (event: Event): boolean => this.#counts[event] < (this.#bound[event] ?? 0);
    if (waiting.length === 0 && !isLeft('deletions')) return [];
    const isIdle = waiting.length > 0 && this.#calls.length === 0 && this.#turns.length === 0;
    const steps = [
      ...this.#cluster.writesOf(this.#bound.writers).map((write) => this.#write(write)),
      ...this.#guards.flatMap((guard) => this.#guardSteps(guard, waiting.length > 0)),
      ...waiting.map((deletion) => this.#reachDeadline(deletion)),
      ...(this.#turns.length > 0 ? [this.#runGuard('the event loop takes a turn', () => this.#takeTurn())] : []),
      this.#delay(isIdle),
      ...(waiting.length === 0 ? this.#guards.map((guard) => this.#restart(guard)) : []),
    ];
    return steps.filter(({ event }) => event === undefined || isLeft(event)).map((step) => this.#toAction(step));
  }

  #guardSteps(guard: ExploredGuard, isWaiting: boolean): readonly Step[] {
    const { calls } = guard.api;
    const served = calls.filter(({ answer }) => answer !== undefined);
    const unserved = calls.filter(({ answer }) => answer === undefined);
    return [
      ...guard.watches.next.map((change) => this.#deliver(guard, change)),
      ...unserved.map((call) => this.#serve(guard, call)),
      ...served.map((call) => this.#answer(guard, call)),
      ...unserved.flatMap((call) => call.faults.map((fault) => this.#answer(guard, call, fault))),
      this.#send(guard),
      ...(isWaiting && !IS_LONG ? [] : [this.#relist(guard), ...this.#deliverMalformed(guard)]),
    ];
  }

  get #calls(): readonly Call[] {
    return this.#guards.flatMap(({ api }) => api.calls);
  }

  #startGuard(suffix: string): ExploredGuard {
    return new ExploredGuard(this.#cluster, this.#bound.holdMs ?? 0, this.#broken, suffix);
  }

  async stop(): Promise<void> {
    this.#onEnd(this.#deletions.flatMap(({ code }) => code ?? []));
    for (const guard of this.#guards) guard.stop();
    for (const deletion of this.#deletions) deletion.reachDeadline();
    this.#takeTurn();
    await settle();
  }

  #takeTurn(): void {
    for (const turn of this.#turns.splice(0)) turn();
  }

  #write({ name, resource, object, apply }: Write): Step {
    const perform = (): void => {
      apply();
      for (const deletion of this.#deletions) deletion.recordUse();
    };
    return { name, rank: RANKS.write, reads: ['clock'], writes: ['use', resource, object], event: 'writes', perform };
  }

  #deliver(guard: ExploredGuard, { resource, object }: Change): Step {
    const watch = guard.nameWatch(resource);
    const name = `the ${watch} delivers ${object.metadata.name} (version ${object.metadata.resourceVersion})`;
    const perform = (): void => guard.watches.deliver(resource);
    // The guard remembers when it has seen a pool.
    const isRemembered = resource === POOLS.name && this.#bound.holdMs !== undefined;
    const access = { reads: isRemembered ? ['clock'] : [], writes: [watch] };
    return { name, rank: RANKS.deliver, ...access, event: 'deliveries', perform };
  }

  #serve(guard: ExploredGuard, call: Call): Step {
    const name = `an API server serves ${call.name}`;
    const perform = async (): Promise<void> => await guard.api.serve(call);
    return { name, rank: RANKS.serve, reads: [...call.reads, 'clock'], writes: [call.name], perform };
  }

  #answer(guard: ExploredGuard, call: Call, fault?: Fault): Step {
    const name = fault === undefined ? `the guard receives the answer to ${call.name}` : `${call.name} ${fault}`;
    const perform = async (): Promise<void> => await guard.api.deliver(call, fault);
    const access = { reads: fault === undefined ? [] : call.reads, writes: ['guard', call.name] };
    return { ...this.#runGuard(name, perform), ...access, event: fault === undefined ? undefined : 'faults' };
  }

  #reachDeadline(deletion: ReviewedDeletion): Step {
    const writes = ['guard', ...this.#calls.map(({ name }) => name)];
    const perform = (): void => deletion.reachDeadline();
    return { ...this.#runGuard(`the deadline of deletion ${deletion.id} passes`, perform), writes, event: 'deadlines' };
  }

  #send(guard: ExploredGuard): Step {
    const id = this.#deletions.length + 1;
    const perform = (): void => {
      const seesPoolsSince = guard.watches.isLate(POOLS.name) ? undefined : guard.seesPoolsSince;
      const deletion = new ReviewedDeletion(id, this.#cluster, this.#bound.holdMs ?? 0, seesPoolsSince);
      this.#deletions.push(deletion);
      deletion.send(guard.judge);
    };
    const name = `the client deletes A (deletion ${id}${guard.suffix})`;
    const reads = ['use', 'clock', ...(this.#bound.holdMs === undefined ? [] : [guard.nameWatch(POOLS.name)])];
    return { ...this.#runGuard(name, perform), reads, event: 'deletions' };
  }

  #relist(guard: ExploredGuard): Step {
    const perform = async (): Promise<void> => {
      const { watches } = guard;
      if (watches.isLate(POOLS.name)) guard.seesPoolsSince = Date.now();
      watches.breakOff(POOLS.name);
      while (!watches.isWatching(POOLS.name)) await this.#pass(DELAY_STEP_MS);
    };
    return { ...this.#changeAll(`the guard${guard.suffix} lists the pools again`, perform), event: 'relists' };
  }

  /** Afterwards the guard has time to list again. */
  #deliverMalformed(guard: ExploredGuard): readonly Step[] {
    if (!guard.watches.isLate(POOLS.name)) return [];
    const perform = async (): Promise<void> => {
      guard.seesPoolsSince = Date.now();
      guard.watches.deliverMalformed(POOLS.name);
      await settle();
      for (let ms = 0; ms < RELIST_MS; ms += DELAY_STEP_MS) await this.#pass(DELAY_STEP_MS);
    };
    return [{ ...this.#changeAll(`the guard${guard.suffix} receives a malformed pool`, perform), event: 'malformed' }];
  }

  #restart(guard: ExploredGuard): Step {
    const perform = (): void => {
      guard.stop();
      this.#guards[this.#guards.indexOf(guard)] = this.#startGuard(guard.suffix);
    };
    return { ...this.#changeAll(`the guard${guard.suffix} starts again`, perform), event: 'restarts' };
  }

  /** A step that depends on all others. */
  #changeAll(name: string, perform: Step['perform']): Step {
    const watches = this.#guards.flatMap((guard) => REFERRER_RESOURCES.map((each) => guard.nameWatch(each.name)));
    const writes = ['guard', 'use', 'clock', ...watches, ...this.#calls.map((call) => call.name)];
    return { ...this.#runGuard(name, perform), writes };
  }

  #delay(isIdle: boolean): Step {
    const perform = async (): Promise<void> => {
      for (let ms = 0; ms < DELAY_MS; ms += DELAY_STEP_MS) {
        await this.#pass(DELAY_STEP_MS);
        // Time that passes while the guards wait for nothing else ends with what they do next.
        if (isIdle && this.#calls.length > 0) break;
      }
    };
    // A call can be aborted.
    const writes = ['guard', 'clock', ...this.#calls.map(({ name }) => name)];
    return { ...this.#runGuard(`${DELAY_MS / 1_000} s pass`, perform), writes, event: isIdle ? undefined : 'delays' };
  }

  async #pass(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    await settle();
  }

  /** A step after which the guard runs until it waits for the scheduler again. */
  #runGuard(name: string, start: Step['perform']): Step {
    const perform = async (): Promise<void> => {
      for (const guard of this.#guards) guard.observe(name);
      await start();
    };
    return { name, rank: RANKS.guard, reads: [], writes: ['guard'], perform };
  }

  #toAction({ event, ...step }: Step): Action {
    const perform = async (): Promise<readonly string[]> => {
      const before = this.#describeOutput();
      for (const guard of this.#guards) guard.reads.clear();
      if (event !== undefined) this.#counts[event] += 1;
      await step.perform();
      await settle();
      const output = this.#describeOutput().filter((text) => !before.includes(text));
      const use = step.rank === RANKS.write ? [`A is named by ${this.#cluster.describeReferrers()}`] : [];
      this.trace.push([step.name, ...use, ...output].join('; '));
      // Whether an answer is wrong depends on when something was written.
      const isAnswer = output.some((text) => text.startsWith('answers'));
      return [...step.reads, ...this.#guards.flatMap(({ reads }) => [...reads]), ...(isAnswer ? ['use', 'clock'] : [])];
    };
    return { ...step, perform };
  }

  #describeOutput(): readonly string[] {
    const calls = this.#calls.map(({ name }) => `sends ${name}`);
    const answered = this.#deletions.filter(({ code }) => code !== undefined);
    return [...calls, ...answered.map(({ id, code }) => `answers deletion ${id} with ${code}`)];
  }
}

/** Lets the code run until it waits for something that the scheduler owns. */
async function settle(): Promise<void> {
  await new Promise((resolve) => {
    realSetImmediate(resolve);
  });
}
