import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { runOk } from '../support/process.ts';
import type { Log, Program } from './go-build.ts';
import type { KubeObject } from './kube-client.ts';
import { findPrograms } from './kubernetes-module.ts';
import { MissingControlPlaneError } from './missing-control-plane-error.ts';
import { readCrds } from './module-files.ts';
import { CI_RELEASES, releaseOf, RELEASES, type Release } from './releases.ts';

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
 * The releases that this machine can test, newest first: the one in the folder `KUBEBUILDER_ASSETS` (as
 * setup-envtest) if that is set, otherwise all. `defaults` are those that CI runs.
 */
export async function availableReleases() {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (!assets) return { all: RELEASES, defaults: CI_RELEASES };
  const releases: readonly Release[] = [await readRelease(assets)];
  return { all: releases, defaults: releases };
}

/**
 * The binaries of an available release: from `KUBEBUILDER_ASSETS`, from the cache, or built. The CRDs come from the
 * cache or from the Go module proxy.
 *
 * @throws MissingControlPlaneError if neither binaries nor Go exist
 */
export async function findBinaries(release: Release, log: Log): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const directory = assets || (await findPrograms('control plane', release, PROGRAMS, log));
  const crds = await readCrds(release.crds);
  return { directory, release, kubectl: join(directory, 'kubectl'), crds };
}

async function readRelease(assets: string): Promise<Release> {
  const missing = PROGRAMS.map(({ name }) => name).filter((name) => !existsSync(join(assets, name)));
  if (missing.length > 0) {
    throw new MissingControlPlaneError(
      `KUBEBUILDER_ASSETS=${assets} has no ${missing.toSorted().join(', no ')}: ` +
        `add it, or unset the variable to build a control plane with Go.`,
    );
  }
  const stdout = await runOk(join(assets, 'kube-apiserver'), ['--version']);
  return releaseOf(/v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? stdout);
}
