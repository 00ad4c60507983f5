import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cachePath, fillCache } from '../../control-plane/cache.ts';
import { goBuild, MissingControlPlaneError, requireGo } from '../../control-plane/go-build.ts';
import { runProcess } from '../../support/process.ts';
import { createDisk } from './disk.ts';

const MODULE = join(import.meta.dirname, 'rhcos');

/**
 * Builds the stand-in for RHCOS (rhcos/main.go), or takes it from the cache.
 * @throws MissingControlPlaneError if Go cannot build it
 */
export async function findRhcos(): Promise<string> {
  const files = ['go.mod', 'main.go', 'confine.go', 'programs.go'];
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(MODULE, file)));
  const program = 'rhcos';
  const directory = await fillCache(cachePath(program, hash.digest('hex').slice(0, 16)), async (unfinished) => {
    await requireGo('There is no RHCOS for machines');
    await goBuild({ module: MODULE, package: '.', output: join(unfinished, program) });
  });
  return join(directory, program);
}

/**
 * The command that runs a program on a disk: it sees only the disk and the network, and cannot reboot, mount or change
 * anything else (rhcos/confine.go).
 */
export function enterDisk(disk: string, command: readonly string[]): readonly [string, readonly string[]] {
  return enterNamespaces([join(disk, 'usr/bin/rhcos'), 'enter', disk, ...command]);
}

/**
 * The command that runs another one as the first process of new namespaces. When it ends, even by SIGKILL, the kernel
 * kills every process and removes every mount in them. Without root it needs user namespaces.
 */
export function enterNamespaces(command: readonly string[]): readonly [string, readonly string[]] {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--propagation=private', '--fork', '--kill-child'];
  return ['unshare', [...user, ...namespaces, '--', ...command]];
}

/** The environment of a program on a disk. It has nothing of this machine. */
export const DISK_ENVIRONMENT = { PATH: '/usr/bin', HOME: '/root' };

/**
 * Builds what machines need, and tries to run a program on a disk.
 * @throws MissingControlPlaneError if this machine cannot run one, Error if the program could change this machine
 */
export async function requireMachines(): Promise<void> {
  const rhcos = await findRhcos();
  const disk = mkdtempSync(join(tmpdir(), 'mcg-disk-'));
  try {
    await createDisk(disk, { rhcos, daemon: rhcos, kubeconfig: '{}' });
    const result = await runProcess(...enterDisk(disk, ['cat', '/proc/self/status']), { env: DISK_ENVIRONMENT });
    const reason = result.stderr.trim().split('\n').at(-1);
    // Not a limit of this machine.
    if (reason?.startsWith('rhcos: cat could change this machine') === true) throw new Error(reason);
    if (result.exitCode !== 0)
      throw new MissingControlPlaneError(`A machine needs root or user namespaces: ${reason}.`);
  } finally {
    rmSync(disk, { recursive: true });
  }
}
