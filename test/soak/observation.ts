import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { memoryOf } from '../bench/memory.ts';
import { summarize } from '../bench/statistics.ts';

export interface Observation {
  /** Minutes since the start of the churn. */
  readonly minute: number;
  /** Resident memory, MB. */
  readonly memory: number;
  /** Open files, sockets included. */
  readonly files: number;
  /** Milliseconds of the slowest of several answers of `/healthz`. */
  readonly delay: number;
  /** Milliseconds of a fixed piece of work in this process. */
  readonly yardstick: number;
}

const PROBES = 5;
/** Takes a millisecond or two to hash. */
const YARDSTICK = Buffer.alloc(1_000_000);
/** getconf CLK_TCK: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** @throws Error if the process has ended */
export async function observe(pid: number, healthUrl: string, minute: number): Promise<Observation> {
  const [memory, files] = await Promise.all([memoryOf(pid), readdir(`/proc/${pid}/fd`)]);
  const delay = await measureDelay(healthUrl);
  return { minute, memory: memory.now, files: files.length, delay, yardstick: measureYardstick() };
}

/** Seconds of processor time that a process has used. */
export async function readCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // proc(5): utime and stime are the 12th and 13th fields after the name, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function measureDelay(healthUrl: string): Promise<number> {
  let slowest = 0;
  for (let probe = 0; probe < PROBES; probe += 1) {
    const startedAt = performance.now();
    const response = await fetch(`${healthUrl}/healthz`);
    await response.text();
    if (!response.ok) throw new Error(`/healthz was answered ${response.status}.`);
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return slowest;
}

/** The median of several measurements, because this process may pause. */
function measureYardstick(): number {
  const times = Array.from({ length: PROBES }, () => {
    const startedAt = performance.now();
    createHash('sha256').update(YARDSTICK).digest();
    return performance.now() - startedAt;
  });
  return summarize(times).p50;
}
