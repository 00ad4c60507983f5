import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/**
 * Reads "watch PID" and "forget PID" until its standard input ends. That happens even if SIGKILL ends this
 * process.
 */
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r word pid; do
  case $word in
    watch) pids="$pids $pid" ;;
    forget) rest=; for p in $pids; do [ "$p" = "$pid" ] || rest="$rest $p"; done; pids=$rest ;;
  esac
done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
`;

/** Kills processes and removes one folder when this process ends, for whatever reason. */
export class ProcessReaper {
  readonly #shell: ChildProcess;

  constructor(directory: string) {
    // In a session of its own, so that Ctrl-C does not end it before the processes that it watches.
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'process-reaper', directory], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.unref();
    this.#shell.stdin?.on('error', () => undefined);
  }

  watch(pid: number) {
    this.#shell.stdin?.write(`watch ${pid}\n`);
  }

  /** Must follow the end of a process, because the kernel may give its number to another one. */
  forget(pid: number) {
    this.#shell.stdin?.write(`forget ${pid}\n`);
  }

  /** Kills the processes that are left and removes the folder. */
  async reap() {
    if (this.#shell.exitCode !== null) return;
    this.#shell.ref();
    const exited = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await exited;
  }
}
