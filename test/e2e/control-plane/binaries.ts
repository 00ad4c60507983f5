import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { publish } from './cache.ts';
import { cachedBuild, goBuild, GoBuildFailed, hasGo } from './go-build.ts';
import { Leash } from './leash.ts';
import { moduleDirectory, releaseOf, RELEASES, type Release } from './releases.ts';

/** A folder with `etcd`, `kube-apiserver`, `kube-controller-manager` and `kubectl` of one release. */
export interface Binaries {
  readonly directory: string;
  readonly release: Release;
  /** File of the kubectl among them. */
  readonly kubectl: string;
}

/** There is no control plane to be had here; the message is one sentence for a person. */
export class NoControlPlane extends Error {
  override readonly name = 'NoControlPlane';
}

type Log = (line: string) => void;

/** In the order in which they are built: the slow one first, so that a machine that cannot build it says so early. */
const TOOLS: readonly { readonly name: string; readonly package: string }[] = [
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl' },
  // Its package is called "server": the name of the binary has to be given.
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
];
const NEEDED = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const;
const HEARTBEAT_MS = 20_000;

/**
 * The releases that can be tested here, newest first: the one in `KUBEBUILDER_ASSETS` when that is set (the convention
 * of setup-envtest), else every release of ours. Builds nothing.
 */
export async function availableReleases(): Promise<readonly Release[]> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  return assets ? [(await fromAssets(assets)).release] : RELEASES;
}

/**
 * Binaries of a release: from `KUBEBUILDER_ASSETS`, else from the cache, else built from the pinned Go modules into it
 * (4 to 7 minutes on two cores). Throws {@link NoControlPlane} where neither binaries nor Go are to be found.
 */
export async function findBinaries(release: Release, log: Log): Promise<Binaries> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets) {
    const binaries = await fromAssets(assets);
    if (binaries.release.kubernetes !== release.kubernetes) {
      throw new NoControlPlane(
        `KUBEBUILDER_ASSETS=${assets} holds Kubernetes ${binaries.release.kubernetes}, not ${release.kubernetes}: unset it, or ask for the version it holds.`,
      );
    }
    return binaries;
  }
  const directory = await cacheDirectory(release);
  if (!isComplete(directory)) await build(release, directory, log);
  return { directory, release, kubectl: join(directory, 'kubectl') };
}

async function fromAssets(directory: string): Promise<Binaries> {
  const missing = NEEDED.filter((name) => !existsSync(join(directory, name)));
  if (missing.length > 0) {
    throw new NoControlPlane(
      `KUBEBUILDER_ASSETS=${directory} has no ${missing.join(', no ')}: add ${missing.length === 1 ? 'it' : 'them'}, or unset the variable so that a control plane is built with Go.`,
    );
  }
  const { stdout } = await promisify(execFile)(join(directory, 'kube-apiserver'), ['--version']);
  const version = /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined) {
    throw new NoControlPlane(`${directory}/kube-apiserver --version said "${stdout.trim()}", which names no version.`);
  }
  return { directory, release: releaseOf(version), kubectl: join(directory, 'kubectl') };
}

function cacheDirectory(release: Release): Promise<string> {
  const builtFrom = ['go.mod', 'go.sum'].map((file) => join(moduleDirectory(release), file));
  return cachedBuild('control-plane', release.kubernetes, builtFrom);
}

async function build(release: Release, directory: string, log: Log): Promise<void> {
  if (!(await hasGo())) {
    throw new NoControlPlane(
      `There is no control plane of Kubernetes ${release.kubernetes} to run on: install Go (https://go.dev/dl) so that it can be built, or point KUBEBUILDER_ASSETS at a folder with ${NEEDED.join(', ')}.`,
    );
  }
  const started = Date.now();
  log(`Building Kubernetes ${release.kubernetes} from its Go modules, once: about 5 minutes on two cores.`);
  await mkdir(join(directory, '..'), { recursive: true });
  const unfinished = await mkdtemp(`${directory}.unfinished-`);
  const leash = new Leash(unfinished);
  try {
    for (const [index, tool] of TOOLS.entries()) {
      const heading = `[${index + 1}/${TOOLS.length}] ${tool.name}`;
      await buildTool(release, tool.package, join(unfinished, tool.name), heading, started, log, leash);
    }
    await publish(unfinished, directory, () => isComplete(directory));
  } finally {
    await leash.end();
  }
  log(`Built in ${elapsed(started)}: ${directory}`);
}

async function buildTool(
  release: Release,
  goPackage: string,
  output: string,
  heading: string,
  started: number,
  log: Log,
  leash: Leash,
): Promise<void> {
  const [major, minor] = release.kubernetes.split('.');
  const version = 'k8s.io/component-base/version';
  const ldflags = [
    '-s -w',
    // Without these the API server calls itself v0.0.0-master, and clients take it for an ancient one.
    `-X ${version}.gitVersion=v${release.kubernetes}`,
    `-X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`,
  ].join(' ');
  log(`${heading} …  ${elapsed(started)}`);
  const heartbeat = setInterval(() => log(`${heading} … still building  ${elapsed(started)}`), HEARTBEAT_MS);
  try {
    await goBuild({ module: moduleDirectory(release), package: goPackage, output, ldflags, leash });
  } catch (error) {
    throw error instanceof GoBuildFailed ? new NoControlPlane(error.message) : error;
  } finally {
    clearInterval(heartbeat);
  }
  log(`${heading} built  ${elapsed(started)}`);
}

function isComplete(directory: string): boolean {
  return TOOLS.every((tool) => existsSync(join(directory, tool.name)));
}

function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
