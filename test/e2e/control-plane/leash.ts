import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Reads "hold PID" and "release PID" until its standard input ends, which it does however the writer ends: by
 * returning, by an exception, by SIGKILL. An exit hook would miss the last one and leave an API server behind.
 */
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r word pid; do
  case $word in
    hold) pids="$pids $pid" ;;
    release) kept=; for p in $pids; do [ "$p" = "$pid" ] || kept="$kept $p"; done; pids=$kept ;;
  esac
done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
`;

/** Ends processes and removes one folder when this process ends, whatever the reason. */
export class Leash {
  readonly #watcher: ChildProcess;

  constructor(directory: string) {
    // Its own session: Ctrl-C in the terminal must not reach it before the processes that it holds have ended.
    this.#watcher = spawn('/bin/sh', ['-c', SCRIPT, 'leash', directory], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#watcher.unref();
    this.#watcher.stdin?.on('error', () => undefined);
  }

  hold(pid: number): void {
    this.#watcher.stdin?.write(`hold ${pid}\n`);
  }

  /** To be said once the process has ended: its number may be given to another. */
  release(pid: number): void {
    this.#watcher.stdin?.write(`release ${pid}\n`);
  }

  /** Kills what is still held and removes the folder. */
  async end(): Promise<void> {
    if (this.#watcher.exitCode !== null) return;
    this.#watcher.ref();
    const exited = once(this.#watcher, 'exit');
    this.#watcher.stdin?.end();
    await exited;
  }
}
