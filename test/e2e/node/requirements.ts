import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { MissingControlPlaneError } from '../control-plane/go-build.ts';
import { NEWEST, type Release } from '../control-plane/releases.ts';

/** The plugins of the container network. */
export const CNI_DIRECTORY = '/usr/lib/cni';

/** Programs that a node needs, each with its Debian package. */
const PROGRAMS: Readonly<Record<string, string>> = {
  buildah: 'buildah',
  containerd: 'containerd',
  [join(CNI_DIRECTORY, 'bridge')]: 'containernetworking-plugins',
  ip: 'iproute2',
  iptables: 'iptables',
  runc: 'runc',
};

const MEMORY_CGROUP = '/sys/fs/cgroup/memory';
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child'];
const TRIAL =
  'mount -t tmpfs tmpfs /mnt; ip link add name mcg0 type veth peer name mcg1; iptables --table nat --list >/dev/null';

interface Obstacle {
  readonly reason: string;
  /** The Debian packages that remove it. */
  readonly packages?: readonly string[];
}

/** The Debian packages with which this machine can run a node of a release. None if it lacks something else. */
export function listMissingPackages(release: Release): readonly string[] {
  return findObstacle(release)?.packages ?? [];
}

/** @throws MissingControlPlaneError if this machine cannot run a node of a release */
export function requireNode(release: Release) {
  const obstacle = findObstacle(release);
  if (obstacle !== undefined) throw new MissingControlPlaneError(obstacle.reason);
}

function findObstacle({ kubernetes }: Release): Obstacle | undefined {
  if (kubernetes !== NEWEST.kubernetes) return { reason: `There is no node of Kubernetes ${kubernetes}.` };
  if (process.getuid?.() !== 0) return { reason: 'A node needs root: run the command with sudo.' };
  // The kubelet also runs with cgroup v2, but the folders of a node are created for v1 only.
  if (!existsSync(MEMORY_CGROUP)) return { reason: 'A node needs cgroup v1, and this machine has cgroup v2.' };
  const packages = Object.entries(PROGRAMS).flatMap(([program, name]) => (isInstalled(program) ? [] : [name]));
  if (packages.length === 0) return findMissingRight();
  const list = packages.join(' ');
  const command = `apt-get install --no-install-recommends ${list}`;
  return { reason: `A node needs the Debian packages ${list}: run "${command}".`, packages };
}

function isInstalled(program: string) {
  if (program.startsWith('/')) return existsSync(program);
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, program)));
}

/** Tries in new namespaces what run-node.sh does, and creates a cgroup. */
function findMissingRight(): Obstacle | undefined {
  try {
    execFileSync('unshare', [...NAMESPACES, 'sh', '-ec', TRIAL], { stdio: 'pipe' });
    rmdirSync(mkdtempSync(join(MEMORY_CGROUP, 'mcg-')));
    return undefined;
  } catch (error) {
    const reason = (error as Error).message.trim().split('\n').at(-1);
    return { reason: `A node needs more rights than this machine gives: ${reason}.` };
  }
}
