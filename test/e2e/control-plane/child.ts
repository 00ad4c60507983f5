import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

import type { Leash } from './leash.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Standard output and error go here, appended. */
  readonly logFile: string;
  readonly leash: Leash;
  readonly env?: NodeJS.ProcessEnv;
}

/** A process of the control plane (or the guard): its output in a file, its life on a leash. */
export class Child {
  readonly #process: ChildProcess;
  readonly #options: ChildOptions;
  readonly #exited: Promise<number | null>;

  constructor(options: ChildOptions) {
    this.#options = options;
    const log = openSync(options.logFile, 'a');
    // A process group of its own, so that Ctrl-C ends the starter first and the starter ends this one in order.
    this.#process = spawn(options.command, options.args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: options.env ?? process.env,
    });
    closeSync(log);
    const { pid } = this.#process;
    if (pid !== undefined) options.leash.hold(pid);
    this.#exited = new Promise((resolve) => {
      this.#process.once('error', () => resolve(null));
      this.#process.once('exit', (code) => {
        if (pid !== undefined) options.leash.release(pid);
        resolve(code);
      });
    });
    this.#process.unref();
  }

  /** Its process number. Throws where it could not be started. */
  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error(`${basename(this.#options.command)} could not be started.`);
    return pid;
  }

  get running(): boolean {
    return this.#process.pid !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Its exit code once it has ended; null when a signal ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', graceMs = 10_000): Promise<number | null> {
    if (!this.running) return this.#exited;
    this.#process.ref();
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs);
    try {
      return await this.#exited;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a signal and waits for nothing. */
  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Waits until `ready` answers true; throws with the end of the log when the process ends or the time is over. */
  async until(ready: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    const name = basename(this.#options.command);
    const deadline = Date.now() + timeoutMs;
    while (!(await ready())) {
      if (!this.running) throw new Error(`${name} ended before it was ready.\n${this.#logEnd()}`);
      if (Date.now() > deadline) throw new Error(`${name} was not ready after ${timeoutMs} ms.\n${this.#logEnd()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #logEnd(): string {
    return readFileSync(this.#options.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  }
}
