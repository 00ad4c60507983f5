import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';

/** A named pipe that a process logs to. It is only read on demand, so it can be full. */
export class LogPipe {
  readonly file: string;
  readonly #descriptor: number;
  #text = '';

  constructor(file: string) {
    execFileSync('mkfifo', [file]);
    this.file = file;
    this.#descriptor = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** Fills the pipe: writes to it block until the next {@link read}. */
  fill() {
    repeatUntilBlocked(() => writeSync(this.#descriptor, '.'.repeat(1024)));
  }

  read() {
    const chunk = Buffer.alloc(4096);
    repeatUntilBlocked(() => {
      this.#text += chunk.toString('utf8', 0, readSync(this.#descriptor, chunk));
    });
    return this.#text;
  }

  close() {
    closeSync(this.#descriptor);
  }
}

function repeatUntilBlocked(step: () => unknown) {
  try {
    for (;;) step();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
}
