import { readFile, writeFile } from 'node:fs/promises';

/** What a process holds of the machine's memory, in MB (10⁶ bytes). */
export interface Memory {
  /** Now. */
  readonly now: number;
  /** The most since it started, or since {@link forgetPeak}. */
  readonly peak: number;
}

/** Resident memory of a process on Linux (proc(5): VmRSS and VmHWM). Throws where the process is gone. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { now: megabytes(status, 'VmRSS'), peak: megabytes(status, 'VmHWM') };
}

/** The peak counts from now on (proc(5): 5 in clear_refs). */
export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

function megabytes(status: string, field: string): number {
  const kibibytes = new RegExp(String.raw`^${field}:\s*(\d+) kB$`, 'm').exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc says nothing of ${field}.`);
  return (Number(kibibytes) * 1_024) / 1e6;
}
