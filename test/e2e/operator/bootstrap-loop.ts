import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { ProgramResult } from '../../../src/rendered-config/operator/run-program.ts';

/** The arguments of `machine-config-controller bootstrap`, and its environment. */
export interface BootstrapRun {
  readonly manifests: string;
  readonly output: string;
  readonly pullSecret: string;
  readonly templates: string;
  readonly version: string;
}

export type RunBootstrap = (run: BootstrapRun) => Promise<ProgramResult>;

/** Runs the bootstrap of the machine-config-controller many times in one process, one run after another. */
export class BootstrapLoop {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #ended: Promise<never>;

  /** @param program of findBootstrapLoop */
  constructor(program: string) {
    this.#process = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.#process.stdout).on('line', (line) => this.#waiting.shift()?.(line));
    this.#ended = once(this.#process, 'close').then(([exitCode]) => {
      throw new Error(`${program} has ended with ${exitCode}`);
    });
    // A run that waits rejects.
    this.#ended.catch(() => undefined);
  }

  /** @throws Error if the process has ended */
  readonly run: RunBootstrap = async (run) => {
    const line = new Promise<string>((resolve) => this.#waiting.push(resolve));
    this.#process.stdin.write(`${JSON.stringify(run)}\n`);
    return JSON.parse(await Promise.race([line, this.#ended])) as ProgramResult;
  };

  async stop(): Promise<void> {
    this.#process.stdin.end();
    await this.#ended.catch(() => undefined);
  }
}
