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

function parseMegabytes(status: string, field: string): number {
  const kibibytes = new RegExp(String.raw`^${field}:\s*(\d+) kB$`, 'm').exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc has no ${field}.`);
  return (Number(kibibytes) * 1_024) / 1e6;
}
