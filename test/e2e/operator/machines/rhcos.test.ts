import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createTemporaryDirectory } from '../../../cli/temporary-directory.ts';
import { until } from '../../control-plane/until.ts';
import { runProcess } from '../../support/process.ts';
import { createDisk } from './disk.ts';
import { DISK_ENVIRONMENT, enterDisk, enterNamespaces, findRhcos } from './machine-programs.ts';

const rhcos = await findRhcos();
const ROOT = join(import.meta.dirname, '../../../..');
const KILLED_RUN = fileURLToPath(new URL('killed-run.ts', import.meta.url));
/** CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID and CAP_SETUID. */
const KEPT = 0xfb;
const KEPT_NAMES = ['chown', 'dac_override', 'fowner', 'fsetid', 'kill', 'setgid', 'setuid'];
const FOREIGN_FILE = import.meta.filename;

async function createTestDisk(): Promise<string> {
  const disk = createTemporaryDirectory();
  await createDisk(disk, { rhcos, daemon: rhcos, kubeconfig: '{}' });
  return disk;
}

/** The sets of capabilities in the status of a process. */
function readCapabilities(status: string): readonly number[] {
  return Array.from(status.matchAll(/^Cap\w+:\s+(\w+)$/gm), ([, mask]) => Number.parseInt(mask ?? '', 16));
}

test('a program on a disk sees only the disk, and has no right to mount or reboot', async () => {
  const disk = await createTestDisk();
  const run = (...command: readonly string[]) => runProcess(...enterDisk(disk, command), { env: DISK_ENVIRONMENT });

  const { stdout } = await run('cat', '/proc/self/status');

  expect(stdout).toMatch(/^NSpid:\s+1$/m);
  expect(readCapabilities(stdout)).toEqual([0, KEPT, KEPT, KEPT, 0]);
  expect((await run('cat', FOREIGN_FILE)).stderr).toContain('no such file or directory');
  expect((await run('cat', '/machine/booted')).stdout).toContain('quay.io/lab/os');
});

test.each([
  ['sys_admin', 21],
  ['sys_boot', 22],
])('no program starts with the capability %s', async (name, number) => {
  const bounds = ['-all', ...[...KEPT_NAMES, name].map((each) => `+${each}`)].join();
  const check = [rhcos, 'check', '/bin/cat', FOREIGN_FILE];

  const result = await runProcess(...enterNamespaces(['setpriv', `--bounding-set=${bounds}`, ...check]));

  expect(result).toMatchObject({ exitCode: 1, stdout: '' });
  const mask = (KEPT + 2 ** number).toString(16).padStart(16, '0');
  for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(result.stderr).toContain(`${set} are ${mask}`);
});

test('no program starts that sees mounts of this machine, or is not in a PID namespace', async () => {
  const check = [rhcos, 'check', '/bin/cat', FOREIGN_FILE] as const;

  const inside = await runProcess(...enterNamespaces(check));
  expect(inside).toMatchObject({ exitCode: 1, stdout: '' });
  expect(inside.stderr).toContain('it sees the mounts /, ');
  expect(inside.stderr).not.toContain('first process');

  const [program, ...args] = check;
  const outside = await runProcess(program, args);
  expect(outside).toMatchObject({ exitCode: 1, stdout: '' });
  expect(outside.stderr).toContain('it is not the first process of a PID namespace');
});

test('after SIGKILL of a test run, no process, mount or file of its machines is left', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mcg-killed-'));
  const args = ['node_modules/tsx/dist/cli.mjs', KILLED_RUN, directory];
  const run = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', detached: true });
  await until('the program on the disk', async () => findProcessesWithMount(directory).length > 0);

  process.kill(-(run.pid ?? 0), 'SIGKILL');

  await until('the end of its processes and mounts', async () => findProcessesWithMount(directory).length === 0);
  await until('the removal of the folder', async () => !existsSync(directory));
  expect(existsSync(directory)).toBe(false);
});

/** The processes that see a mount whose source or target contains this text. */
function findProcessesWithMount(text: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(text);
    } catch {
      // It is no process, or has just ended.
      return false;
    }
  });
}
