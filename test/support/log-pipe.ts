import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';

/** A named pipe for somebody's log, with a reader that reads only when it is told to. */
export class LogPipe {
  readonly file: string;
  readonly #both: number;
  #text = '';

  /** Makes it; there must be no such file yet. */
  constructor(file: string) {
    execFileSync('mkfifo', [file]);
    this.file = file;
    this.#both = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** From now on it takes nothing more, until it is read. */
  fill(): void {
    untilItWouldBlock(() => writeSync(this.#both, '.'.repeat(1024)));
  }

  /** All that was written to it so far. */
  read(): string {
    const chunk = Buffer.alloc(4096);
    untilItWouldBlock(() => {
      this.#text += chunk.toString('utf8', 0, readSync(this.#both, chunk));
    });
    return this.#text;
  }

  /** Nobody will read it any more. */
  close(): void {
    closeSync(this.#both);
  }
}

function untilItWouldBlock(step: () => unknown): void {
  try {
    for (;;) step();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
}
