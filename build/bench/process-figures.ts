import { readFile, writeFile } from 'node:fs/promises';

/**
 * The resident memory of a process in MB (10⁶ bytes), now and at its peak (proc(5): VmRSS and VmHWM).
 * @throws Error if the process has ended
 */
export async function memoryOf(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { now: parseMegabytes(status, 'VmRSS'), peak: parseMegabytes(status, 'VmHWM') };
}

/** Makes the peak count from now on (proc(5): 5 in clear_refs). */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** Ticks in a second, on every Linux that Node.js supports (sysconf(3): _SC_CLK_TCK). */
const TICKS_PER_SECOND = 100;

/**
 * The processor time of a process since its start in milliseconds, in steps of 10 (proc(5): utime and stime).
 * @throws Error if the process has ended
 */
export async function processorMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, can have spaces. utime is the 14th field, and stime the next.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND;
}

function parseMegabytes(status: string, field: string): number {
  const kibibytes = new RegExp(String.raw`^${field}:\s*(\d+) kB$`, 'm').exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc has no ${field}.`);
  return (Number(kibibytes) * 1_024) / 1e6;
}
