import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { cpus } from 'node:os';

import { memoryOf } from '../bench/memory.ts';
import { summary } from '../bench/percentiles.ts';

/** What is seen of the guard at a moment. */
export interface Observation {
  /** Since the churn began. */
  readonly minute: number;
  /** Resident memory, MB. */
  readonly memory: number;
  /** Open files, sockets among them. */
  readonly files: number;
  /** The longest of some answers of `/healthz`, milliseconds: whoever asks waits for the event loop, and for nothing else. */
  readonly delay: number;
  /** What the observer needed at this moment for a piece of work that is always the same, milliseconds: how fast the machine was. */
  readonly yardstick: number;
  /** Share of one core that the guard took since the last observation. */
  readonly cpu: number;
  /** Cores that were busy on the whole machine since then. */
  readonly busyCores: number;
}

/** Enough that one of them meets whatever keeps the event loop. */
const PROBES = 5;
/** Enough to last a millisecond or two. */
const YARDSTICK = Buffer.alloc(1_000_000, 'as long as this takes');
/** Clock ticks a second in /proc (getconf CLK_TCK; 100 on every Linux that Node runs on). */
const TICKS = 100;

/** Looks at a process from outside, so that what is looked at is the program as it is shipped. Linux only. */
export class Observer {
  readonly #pid: number;
  readonly #healthUrl: string;
  #last: Usage;
  readonly #begun = performance.now();

  private constructor(pid: number, healthUrl: string, first: Usage) {
    this.#pid = pid;
    this.#healthUrl = healthUrl;
    this.#last = first;
  }

  static async start(pid: number, healthUrl: string): Promise<Observer> {
    return new Observer(pid, healthUrl, await usageOf(pid));
  }

  /** Throws where the process is gone. */
  async observe(): Promise<Observation> {
    const [memory, files, usage] = await Promise.all([
      memoryOf(this.#pid),
      readdir(`/proc/${this.#pid}/fd`),
      usageOf(this.#pid),
    ]);
    const seconds = (usage.at - this.#last.at) / 1_000;
    const [cpu, busyCores] = [
      (usage.process - this.#last.process) / seconds,
      (usage.machine - this.#last.machine) / seconds,
    ];
    this.#last = usage;
    const minute = (performance.now() - this.#begun) / 60_000;
    const delay = await this.#delay();
    return { minute, memory: memory.now, files: files.length, delay, yardstick: measured(), cpu, busyCores };
  }

  async #delay(): Promise<number> {
    let longest = 0;
    for (let probe = 0; probe < PROBES; probe += 1) {
      const begun = performance.now();
      const response = await fetch(`${this.#healthUrl}/healthz`);
      await response.text();
      if (!response.ok) throw new Error(`/healthz was answered ${response.status}.`);
      longest = Math.max(longest, performance.now() - begun);
    }
    return longest;
  }
}

/** The middle of several: one alone may have waited for its turn. */
function measured(): number {
  const times = Array.from({ length: PROBES }, () => {
    const begun = performance.now();
    createHash('sha256').update(YARDSTICK).digest();
    return performance.now() - begun;
  });
  return summary(times).p50;
}

/** Seconds of processor time. */
interface Usage {
  readonly at: number;
  readonly process: number;
  readonly machine: number;
}

async function usageOf(pid: number): Promise<Usage> {
  const [own, all] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile('/proc/stat', 'utf8')]);
  // proc(5): the name in brackets may have spaces; behind it utime and stime are the 12th and 13th.
  const fields = own
    .slice(own.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, , , idle = 0, waiting = 0] = /^cpu .*$/m.exec(all)?.[0].split(/ +/).map(Number).slice(0, 6) ?? [];
  const at = performance.now();
  const passed = cpus().length * (await uptime());
  return { at, process: ((fields[11] ?? 0) + (fields[12] ?? 0)) / TICKS, machine: passed - (idle + waiting) / TICKS };
}

async function uptime(): Promise<number> {
  return Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]);
}
