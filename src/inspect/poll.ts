import { sleep } from '../kube/wait.ts';

/** How a wait goes. */
export interface PollOptions<Answer> {
  /** One look at the cluster, within so many milliseconds. */
  readonly poll: (withinMs: number) => Promise<Answer>;
  /** Is there no need to look again? */
  readonly isSettled: (answer: Answer) => boolean;
  readonly timeoutMs: number;
  /** Until when, in milliseconds since the beginning, it is worth trying again after this error; 0 where it is not. */
  readonly patienceMs: (error: unknown, answered: boolean) => number;
  readonly onAnswer: (answer: Answer, atMs: number) => void;
  readonly onFailure: (error: unknown, atMs: number) => void;
  /** Pause between two looks. */
  readonly pollMs?: number;
}

/** The last answer and how long it took to come to it. */
export interface PollResult<Answer> {
  readonly answer: Answer;
  readonly waitedMs: number;
}

/** One look takes at most so long: two thousand nodes are listed in a fraction of it. */
const LOOK_MS = 30_000;
/** The last look gets so long even where less is left, or its own deadline would look like an API server that is away. */
const LAST_LOOK_MS = 5_000;
const POLL_MS = 2_000;
/** Between two looks there is at least so many times the time that one took: waiting must not load a large cluster. */
const REST = 4;
/** But no longer than this: a look that hung for its half minute says nothing about load. */
const REST_MAX_MS = 10_000;

/**
 * Looks again and again until the answer is settled or the time is over.
 *
 * @throws the last error where the time ends while the cluster does not answer, and errors that no waiting helps against
 */
export async function pollUntilSettled<Answer>(options: PollOptions<Answer>): Promise<PollResult<Answer>> {
  const { poll, isSettled, timeoutMs, patienceMs, onAnswer, onFailure, pollMs = POLL_MS } = options;
  const begun = performance.now();
  const now = (): number => performance.now() - begun;
  let answered = false;
  for (;;) {
    const lookedAt = now();
    let untilMs = timeoutMs;
    let outcome: { answer: Answer } | { error: unknown };
    try {
      const answer = await poll(Math.min(LOOK_MS, Math.max(timeoutMs - lookedAt, LAST_LOOK_MS)));
      answered = true;
      onAnswer(answer, now());
      if (isSettled(answer)) return { answer, waitedMs: now() };
      outcome = { answer };
    } catch (error) {
      untilMs = patienceMs(error, answered);
      outcome = { error };
      if (untilMs > 0) onFailure(error, now());
    }
    const leftMs = Math.min(untilMs, timeoutMs) - now();
    if (leftMs <= 0) {
      if ('error' in outcome) throw outcome.error;
      return { answer: outcome.answer, waitedMs: now() };
    }
    const restMs = Math.min(REST * (now() - lookedAt), REST_MAX_MS);
    await sleep(Math.min(leftMs, Math.max(pollMs, restMs)), new AbortController().signal);
  }
}
