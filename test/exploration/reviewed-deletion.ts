import type { Judge } from '../../src/review/judge.ts';
import { CONFIG_A, type TwoConfigCluster } from './two-config-cluster.ts';
import type { Code } from '../../src/api/codes.ts';

const DEADLINE_MS = 3_800;

/**
 * A review of the deletion of A, and what the guard promises about its answer (docs/internals/testing.md). The API
 * server sends the review in the moment in which the guard receives it, and deletes A in the moment of the answer. Any
 * other moments would only make the promises weaker, because they begin with the sending and end with the deletion:
 *
 * 1. The guard never allows the deletion if A was in use all the time, no matter which referrers named it when.
 * 2. The guard never allows the deletion within the hold since the pool of A named it, as of the sending.
 * 3. The guard says that A is in use only if it was at some moment.
 * 4. The guard answers in time. Before the deadline and without a fault, it can verify the references. Without a hold,
 *    it holds nothing. With a hold, it does not hold A if it has seen that no pool named A within the hold.
 */
export class ReviewedDeletion {
  readonly id: number;
  /** Undefined until the guard answers. */
  code: Code | undefined;
  readonly #cluster: TwoConfigCluster;
  readonly #deadline = new AbortController();
  readonly #sentAt = Date.now();
  readonly #poolNamedA: number;
  #isKnownToBeFree: boolean;
  /** Whether A was in use at the different moments. */
  readonly #uses: Set<boolean>;

  /** @param seesPoolsSince since when the guard has seen every version of the pools; undefined if it is late */
  constructor(id: number, cluster: TwoConfigCluster, holdMs: number, seesPoolsSince: number | undefined) {
    this.id = id;
    this.#cluster = cluster;
    this.#uses = new Set([cluster.isInUse]);
    this.#poolNamedA = cluster.poolNamedA.getTime();
    const knownSince = Math.max(seesPoolsSince ?? Number.POSITIVE_INFINITY, this.#poolNamedA);
    // The guard rounds up to the next second.
    this.#isKnownToBeFree = knownSince + holdMs + 1_000 < this.#sentAt;
  }

  /** The future of the review depends only on it and on the guard. */
  get state(): unknown {
    if (this.code !== undefined) return 'answered';
    return [this.#sentAt, this.#poolNamedA, this.#isKnownToBeFree, this.#uses.has(true), this.#uses.has(false)];
  }

  send(judge: Judge): void {
    setTimeout(() => this.reachDeadline(), DEADLINE_MS);
    const review = { uid: `review ${this.id}`, isDryRun: false, user: 'client', config: CONFIG_A };
    void judge.judge(review, this.#deadline.signal).then(({ verdict }) => {
      this.code = verdict.code;
    });
  }

  /** Called after each write. */
  recordUse(): void {
    if (this.code !== undefined) return;
    this.#uses.add(this.#cluster.isInUse);
    this.#isKnownToBeFree = false;
  }

  /** @param isUndisturbed whether no call failed, and no time passed while the guard could go on */
  findViolation(holdMs: number, isUndisturbed: boolean): string | undefined {
    const { code } = this;
    const isAllowed = code === 'MCG_NOT_IN_USE';
    const problems: readonly (readonly [boolean, string])[] = [
      [code === undefined && Date.now() - this.#sentAt > DEADLINE_MS, 'the time is over'],
      [isAllowed && !this.#uses.has(false), 'A was in use the whole time'],
      [isAllowed && this.#poolNamedA + holdMs > Date.now(), 'a pool named A within the hold'],
      [code === 'MCG_IN_USE' && !this.#uses.has(true), 'A was unused the whole time'],
      [code === 'MCG_UNVERIFIED' && isUndisturbed && !this.#deadline.signal.aborted, 'nothing failed'],
      [code === 'MCG_HELD' && holdMs === 0, 'there is no hold'],
      [code === 'MCG_HELD' && this.#isKnownToBeFree, 'the guard has seen that no pool named A within the hold'],
    ];
    const problem = problems.find(([isViolated]) => isViolated)?.[1];
    return problem === undefined ? undefined : `deletion ${this.id}: ${code ?? 'no answer'}, but ${problem}`;
  }

  /** The guard has no more time. */
  reachDeadline(): void {
    this.#deadline.abort(new DOMException('', 'TimeoutError'));
  }
}
