import { join } from 'node:path';

import type { Log, Program } from './go-build.ts';
import type { KubeObject } from './kube-client.ts';
import { findPrograms } from './kubernetes-module.ts';
import { readCrds } from './module-files.ts';
import type { Release } from './releases.ts';

/** A folder with `etcd`, `kube-apiserver`, `kube-controller-manager` and `kubectl` of one release. */
export interface Binaries {
  readonly directory: string;
  readonly release: Release;
  /** Path of kubectl. */
  readonly kubectl: string;
  /** OpenShift's MachineConfig CRDs. */
  readonly crds: readonly KubeObject[];
}

/** The slowest is first, so that a machine that cannot build it reports that early. */
const PROGRAMS: readonly Program[] = [
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl' },
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
];

/**
 * The binaries and the CRDs of a release: from the cache, or built and downloaded with Go.
 *
 * @throws MissingControlPlaneError if they are not in the cache and Go is missing or cannot build them
 */
export async function findBinaries(release: Release, log: Log): Promise<Binaries> {
  const directory = await findPrograms('control plane', release, PROGRAMS, log);
  const crds = await readCrds(`openshift-${release.openshift}`);
  return { directory, release, kubectl: join(directory, 'kubectl'), crds };
}
