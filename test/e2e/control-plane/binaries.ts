import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { runOk } from '../support/process.ts';
import { type Log, MissingControlPlaneError, type Program } from './go-build.ts';
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
 * The binaries of a release: from the folder `KUBEBUILDER_ASSETS` (as of setup-envtest), from the cache, or
 * built. The CRDs come from the cache or from the Go module proxy.
 *
 * @throws MissingControlPlaneError if neither binaries nor Go exist
 */
export async function findBinaries(release: Release, log: Log): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets) await assertComplete(assets, release);
  const directory = assets || (await findPrograms('control plane', release, PROGRAMS, log));
  const crds = await readCrds(`openshift-${release.openshift}`);
  return { directory, release, kubectl: join(directory, 'kubectl'), crds };
}

async function assertComplete(assets: string, { kubernetes }: Release): Promise<void> {
  const missing = PROGRAMS.map(({ name }) => name).filter((name) => !existsSync(join(assets, name)));
  const version = missing.length > 0 ? '' : await runOk(join(assets, 'kube-apiserver'), ['--version']);
  if (version.includes(`v${kubernetes}`)) return;
  const problem =
    missing.length > 0 ? `no ${missing.toSorted().join(', no ')}` : `${version.trim()}, not ${kubernetes}`;
  throw new MissingControlPlaneError(
    `KUBEBUILDER_ASSETS=${assets} has ${problem}: change it, or unset the variable to build a control plane with Go.`,
  );
}
