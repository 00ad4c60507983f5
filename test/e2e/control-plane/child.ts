import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { ProcessReaper } from './process-reaper.ts';
import { until } from './until.ts';

const GRACE_MS = 10_000;

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Standard output and error are appended to this file. */
  readonly logFile: string;
  readonly reaper: ProcessReaper;
  readonly env?: NodeJS.ProcessEnv;
  /** Its working directory, if not that of this process. */
  readonly cwd?: string;
}

/** A child process that logs to a file and never outlives this process. */
export class Child {
  readonly #process: ChildProcess;
  readonly #options: ChildOptions;
  readonly #exited: Promise<number | null>;

  constructor(options: ChildOptions) {
    this.#options = options;
    const log = openSync(options.logFile, 'a');
    // In a process group of its own: Ctrl-C ends this process first, which then stops the child in order.
    this.#process = spawn(options.command, options.args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: options.env ?? process.env,
      cwd: options.cwd,
    });
    closeSync(log);
    const { pid } = this.#process;
    if (pid !== undefined) options.reaper.watch(pid);
    const exited = once(this.#process, 'exit').then(([code]) => code as number | null);
    this.#exited = exited.catch(() => null).finally(() => pid !== undefined && options.reaper.forget(pid));
    this.#process.unref();
  }

  /** @throws Error if the process could not be started */
  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error(`${basename(this.#options.command)} could not be started.`);
    return pid;
  }

  get isRunning() {
    const { pid, exitCode, signalCode } = this.#process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** The exit code; null if a signal ended the process. SIGKILL follows after the grace period. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (!this.isRunning) return this.#exited;
    this.#process.ref();
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), GRACE_MS);
    try {
      return await this.#exited;
    } finally {
      clearTimeout(timer);
    }
  }

  /** @throws Error with the end of the log if the process ends before `isReady`, or this takes too long */
  async waitUntil(isReady: () => Promise<boolean>) {
    const name = basename(this.#options.command);
    const poll = async () => {
      if (await isReady()) return true;
      if (!this.isRunning) throw new Error(`${name} ended before it was ready.\n${this.#readLogEnd()}`);
      return false;
    };
    await until(() => `${name}.\n${this.#readLogEnd()}`, poll, { everyMs: 50 });
  }

  #readLogEnd() {
    return readFileSync(this.#options.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  }
}
