import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { MissingControlPlaneError } from '../control-plane/missing-control-plane-error.ts';
import type { Release } from '../control-plane/releases.ts';

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

/** The folder with the go.mod and go.sum that build the components of a node. Only the newest release has one. */
export function nodeModuleDirectory({ kubernetes }: Release): string {
  return fileURLToPath(new URL(`./${kubernetes}`, import.meta.url));
}

/** Why this machine cannot run a node of a release, in one sentence. Undefined if it can. */
export function findObstacle(release: Release): string | undefined {
  if (!existsSync(nodeModuleDirectory(release)))
    return `There is no node of Kubernetes ${release.kubernetes}.`;
  if (process.getuid?.() !== 0) return 'A node needs root: run the command with sudo.';
  // The kubelet also runs with cgroup v2, but the folders of a node are created for v1 only.
  if (!existsSync('/sys/fs/cgroup/memory'))
    return 'A node needs cgroup v1, and this machine has cgroup v2.';
  const packages = Object.entries(PROGRAMS).flatMap(([program, name]) =>
    isInstalled(program) ? [] : [name],
  );
  if (packages.length === 0) return undefined;
  const names = packages.join(' ');
  return `A node needs the Debian packages ${names}: run "apt-get install --no-install-recommends ${names}".`;
}

/** @throws MissingControlPlaneError if this machine cannot run a node of a release */
export function requireNode(release: Release) {
  const obstacle = findObstacle(release);
  if (obstacle !== undefined) throw new MissingControlPlaneError(obstacle);
}

function isInstalled(program: string) {
  if (program.startsWith('/')) return existsSync(program);
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .some((directory) => existsSync(join(directory, program)));
}
