import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The memory controllers of cgroup v1 and v2, each with the file of its limit. */
const CONTROLLERS = [
  ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
  ['/sys/fs/cgroup', 'memory.max'],
] as const;

/**
 * Creates a cgroup with a memory limit, as a container runtime does for `resources.limits.memory`.
 *
 * @returns the start of a shell script that enters it, and a function that removes it. Without the right to
 *   create a cgroup the script does nothing, so the test only compares the memory with the limit
 */
export async function createMemoryCgroup(name: string, limitBytes: number) {
  for (const [root, limitFile] of CONTROLLERS) {
    const directory = join(root, name);
    try {
      await mkdir(directory);
      await writeFile(join(directory, limitFile), String(limitBytes));
      return { enter: `echo $$ > ${join(directory, 'cgroup.procs')}`, remove: () => rmdir(directory) };
    } catch {
      await rmdir(directory).catch(() => {});
    }
  }
  return { enter: ':', remove: async () => {} };
}
