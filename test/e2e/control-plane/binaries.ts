import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { cachePath, fillCache } from './cache.ts';
import { goBuild, hasGo } from './go-build.ts';
import { MissingControlPlaneError } from './missing-control-plane-error.ts';
import { readModuleFiles } from './module-files.ts';
import { CI_RELEASES, moduleDirectory, releaseOf, RELEASES, type Release } from './releases.ts';

/** A folder with `etcd`, `kube-apiserver`, `kube-controller-manager` and `kubectl` of one release. */
export interface Binaries {
  readonly directory: string;
  readonly release: Release;
  /** Path of kubectl. */
  readonly kubectl: string;
  /** OpenShift's MachineConfig CRDs, as YAML. */
  readonly crds: readonly string[];
}

type Log = (line: string) => void;

/** In build order. The slowest is first, so that a machine that cannot build it reports that early. */
const TOOLS: readonly { readonly name: string; readonly package: string }[] = [
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl' },
  // The package is called "server", so the binary needs an explicit name.
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
];
const NAMES = TOOLS.map(({ name }) => name).toSorted();

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
 * The binaries of an available release: from `KUBEBUILDER_ASSETS`, from the cache, or built from the pinned
 * Go modules in 4 to 7 minutes on two cores. The CRDs come from the cache or from the Go module proxy.
 *
 * @throws MissingControlPlaneError if neither binaries nor Go exist
 */
export async function findBinaries(release: Release, log: Log) {
  const directory = process.env['KUBEBUILDER_ASSETS'] || (await findBuild(release, log));
  const crds = await readModuleFiles(release.crds);
  return { directory, release, kubectl: join(directory, 'kubectl'), crds };
}

async function readRelease(assets: string): Promise<Release> {
  const missing = NAMES.filter((name) => !existsSync(join(assets, name)));
  if (missing.length > 0) {
    throw new MissingControlPlaneError(
      `KUBEBUILDER_ASSETS=${assets} has no ${missing.join(', no ')}: ` +
        `add it, or unset the variable to build a control plane with Go.`,
    );
  }
  const { stdout } = await promisify(execFile)(join(assets, 'kube-apiserver'), ['--version']);
  return releaseOf(/v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? stdout);
}

async function findBuild(release: Release, log: Log) {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(moduleDirectory(release), file)));
  // The name changes with the modules, so that an outdated build is never used.
  const name = `${release.kubernetes}-${hash.digest('hex').slice(0, 16)}`;
  const directory = cachePath('control-plane', name);
  if (!existsSync(directory)) await buildAll(release, directory, log);
  return directory;
}

async function buildAll(release: Release, directory: string, log: Log) {
  if (!(await hasGo())) {
    throw new MissingControlPlaneError(
      `There is no control plane of Kubernetes ${release.kubernetes} to run on: install Go (https://go.dev/dl), ` +
        `or point KUBEBUILDER_ASSETS at a folder with ${NAMES.join(', ')}.`,
    );
  }
  log(`Building Kubernetes ${release.kubernetes} from its Go modules, once: about 5 minutes on two cores.`);
  const module = moduleDirectory(release);
  const ldflags = versionFlags(release);
  await fillCache(directory, async (unfinished, reaper) => {
    for (const [index, tool] of TOOLS.entries()) {
      log(`[${index + 1}/${TOOLS.length}] ${tool.name} …`);
      await goBuild({
        module,
        package: tool.package,
        output: join(unfinished, tool.name),
        ldflags,
        reaper,
      });
    }
  });
  log(`Built: ${directory}`);
}

/** Without these an API server calls itself v0.0.0-master, and clients take it for a very old one. */
export function versionFlags({ kubernetes }: Release) {
  const [major, minor] = kubernetes.split('.');
  // Kubernetes 1.27 answers /version with that of client-go.
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const values = [`gitVersion=v${kubernetes}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  const flags = packages.flatMap((name) => values.map((value) => `-X ${name}.${value}`));
  return ['-s -w', ...flags].join(' ');
}
