import { hasAnswered, isRetryableRead } from '../../client/cluster-access.ts';
import { type CommandRole, describeRetry, isDeniedByAdmission, toCliError } from '../../client/cluster-error.ts';
import { CliError, EXIT_CODE, ReportedFailure } from '../../client/exit.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { assertDryRunIsHonored, sendWrite, type Write } from '../../client/write.ts';
import { indent, type TextFormat } from '../../client/output/text-format.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { ApiError } from '../../kube/errors.ts';

/*
 * The commands that write, `restore` and `uninstall`, are lists of steps, each derived from one state of the cluster.
 * `finish` runs the work and returns why it ended: `sendDryRuns` sends all writes as dry runs, then `take`
 * takes each step, for which it looks at the live state again. `listReports` knows the state of each step at every end.
 */

export interface Step {
  /** For scripts, such as `PausePool`. */
  readonly action: string;
  /** What it does: a verb phrase. */
  readonly description: string;
  /** Undefined if the step only waits. */
  readonly write?: Write | undefined;
  /** Present if the step cannot end in this state. */
  readonly wait?: Wait | undefined;
}

export interface Wait {
  /** Follows the word "waiting". */
  readonly reason: string;
  /** What a person can do to end it. */
  readonly advice?: Advice;
}

/** `failed`: the run stopped in it. `unnecessary`: when the run came to it, somebody else had done it. */
export type StepState = 'planned' | 'done' | 'unnecessary' | 'failed' | 'notReached';

const STATE_TEXTS: Readonly<Record<StepState, string>> = {
  planned: '',
  done: ': done',
  unnecessary: ': no longer necessary',
  failed: ': stopped here',
  notReached: ': not done',
};

export type StepReport = Pick<Step, 'action' | 'description'> & { readonly state: StepState };

/** What the JSON of every command that writes begins with. Its keys are a contract. */
export interface RunReport {
  /** Host and port of the API server. */
  readonly server: string;
  /** Whether `--confirm` was given. */
  readonly confirmed: boolean;
  /** Whether the exit code is 0. */
  readonly ok: boolean;
  /** Whether a write was sent that can have changed the cluster. */
  readonly written: boolean;
  /** Why the run ended early. A clause. */
  readonly problem: string | null;
}

export interface StepOptions {
  /** Without it, the steps are only planned. */
  readonly isConfirmed: boolean;
  readonly timeoutMs: number;
  /** Replaces the timer between two reads, for a simulated clock. */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
  /** Called for each step and each change during a wait. */
  readonly onProgress?: (text: string, elapsedMs: number, advice?: Advice) => void;
  /** The role that an administrator can bind if the user lacks a right. */
  readonly role?: CommandRole;
  /** Ends the run after the current request. */
  readonly signal?: AbortSignal;
}

/** A step still waits at its timeout. */
export class WaitTimeout extends CliError {
  readonly wait: Wait;

  constructor(wait: Wait) {
    super(`timed out waiting ${wait.reason}`, EXIT_CODE.failure, { advice: wait.advice });
    this.wait = wait;
  }
}

/** A webhook or a policy denies the dry run of a step. */
export class WriteDenied extends CliError {
  static readonly advice = advise('change what the policy or webhook asks for, and run the same command again');

  constructor({ description }: Step, denial: string) {
    const { advice } = WriteDenied;
    super(`the API server denies to ${description}: ${denial}`, EXIT_CODE.failure, { advice });
  }
}

export class StepRun {
  readonly signal: AbortSignal;
  protected readonly api: KubeApi;
  protected readonly options: StepOptions;
  readonly #startedAt = performance.now();
  readonly #states = new Map<Step, StepState>();
  readonly #written = new Set<Step>();

  constructor(api: KubeApi, options: StepOptions) {
    this.api = api;
    this.options = options;
    this.signal = options.signal ?? NEVER_ABORTED;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  isWritten(step: Step): boolean {
    return this.#written.has(step);
  }

  isFinished(step: Step): boolean {
    return ['done', 'unnecessary'].includes(this.#states.get(step) ?? '');
  }

  /**
   * Does the work of a command.
   * @returns why it ended early, or undefined if it is complete. An error other than a CliError is a defect
   */
  async finish(work: () => Promise<void>): Promise<Error | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (this.signal.aborted) return new CliError('interrupted', EXIT_CODE.interrupted);
      return toCliError(error, this.api, this.options.role) as Error;
    }
  }

  /**
   * Sends every write as a dry run, so a missing right or a policy is found before the first write.
   * @throws WriteDenied; CliError if the API server does not honor dry runs; ClusterAccessError
   */
  async sendDryRuns(steps: readonly Step[]): Promise<void> {
    const writes = steps.flatMap((step) => (step.write === undefined ? [] : [{ step, write: step.write }]));
    const [first] = writes;
    if (first === undefined) return;
    await readWithRetries((signal) => assertDryRunIsHonored(this.api, first.write, signal), this.signal);
    for (const { step, write } of writes) {
      try {
        await readWithRetries((signal) => sendWrite(this.api, write, { dryRun: 'All', signal }), this.signal);
      } catch (error) {
        const { cause } = error as Error;
        // Somebody else has changed the object meanwhile. The step looks again.
        if (isConflict(error) || isGone(write, error)) continue;
        this.#states.set(step, 'failed');
        if (!isDeniedByAdmission(cause)) throw error;
        throw new WriteDenied(step, (cause as ApiError).message);
      }
    }
  }

  /**
   * Looks at the live state and does what the step needs, until it needs nothing more.
   * @param look the same step in the live state, or undefined if there is nothing to do
   * @throws WaitTimeout, ClusterAccessError, or the signal's reason
   */
  async take(
    step: Step,
    look: (signal: AbortSignal) => Promise<Step | undefined>,
    untilMs = this.options.timeoutMs,
  ): Promise<void> {
    this.#states.set(step, 'failed');
    const { answer: wait } = await pollUntilSettled({
      read: (signal) => this.#attempt(step, look, signal),
      isSettled: (answer) => answer === undefined,
      timeoutMs: Math.max(0, untilMs - this.elapsedMs),
      retryUntilMs: (error) => (isRetryableRead(error) || isConflict(error) ? Number.POSITIVE_INFINITY : 0),
      onAnswer: (answer) => {
        if (answer !== undefined) this.progress(`waiting ${answer.reason}`, answer.advice);
      },
      onFailure: (error) => this.progress(describeRetry(error, this.api)),
      signal: this.signal,
      sleep: this.options.sleep,
    });
    if (wait !== undefined) throw new WaitTimeout(wait);
    const state = step.write !== undefined && !this.isWritten(step) ? 'unnecessary' : 'done';
    this.#states.set(step, state);
    this.progress(step.description + STATE_TEXTS[state]);
  }

  /** @returns what the step waits for, or undefined if it needs nothing more */
  async #attempt(
    step: Step,
    look: (signal: AbortSignal) => Promise<Step | undefined>,
    signal: AbortSignal,
  ): Promise<Wait | undefined> {
    const current = await look(signal);
    if (current?.write === undefined || current.wait !== undefined) return current?.wait;
    // An earlier attempt can have written without an answer.
    const wasWritten = this.#written.has(step);
    this.#written.add(step);
    try {
      await sendWrite(this.api, current.write, { signal });
    } catch (error) {
      if (isRejected(error) && !wasWritten) this.#written.delete(step);
      // Somebody else has deleted the object meanwhile.
      if (isGone(current.write, error)) return undefined;
      throw error;
    }
    if (current.write.method !== 'DELETE') return undefined;
    // Finalizers can keep the object, and a controller can create it again.
    const after = await look(signal);
    return after && (after.wait ?? { reason: `to ${step.description}` });
  }

  listReports(steps: readonly Step[]): StepReport[] {
    const untouched = this.options.isConfirmed ? 'notReached' : 'planned';
    return steps.map((step) => {
      return { action: step.action, description: step.description, state: this.#states.get(step) ?? untouched };
    });
  }

  buildReport(failure: Error | undefined): RunReport {
    return {
      server: this.api.address,
      confirmed: this.options.isConfirmed,
      ok: failure === undefined,
      // Also a write whose response was lost.
      written: this.#written.size > 0,
      problem: failure?.message ?? null,
    };
  }

  progress(text: string, advice?: Advice): void {
    this.options.onProgress?.(text, this.elapsedMs, advice);
  }
}

/** Lists the steps that `onProgress` has not reported as finished. */
export function formatSteps(format: TextFormat, steps: readonly StepReport[]): string[] {
  return steps.flatMap(({ description, state }, index) => {
    if (state === 'done' || state === 'unnecessary') return [];
    return [indent(format, description + STATE_TEXTS[state], `${index + 1}. `)];
  });
}

/** Ends a command after its report. The report says why, except for a defect of the program. */
export function throwUnlessOk({ ok }: RunReport, failure: Error | undefined): void {
  if (failure !== undefined && !(failure instanceof CliError)) throw failure;
  if (!ok) throw new ReportedFailure(failure?.exitCode);
}

/** The object has changed since it was read, or exists already. */
function isConflict(error: unknown): boolean {
  return hasStatus(error, 409);
}

function isGone({ method }: Write, error: unknown): boolean {
  return method === 'DELETE' && hasStatus(error, 404);
}

function hasStatus(error: unknown, status: number): boolean {
  return hasAnswered(error) && error.cause.status === status;
}

/** Whether the API server has certainly not written. After another error it can have written. */
function isRejected(error: unknown): boolean {
  return hasAnswered(error) && error.cause.status < 500;
}
