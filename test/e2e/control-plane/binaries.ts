import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachePath } from './cache.ts';
import { findGoPrograms, type Log, type Program } from './go-build.ts';
import { CHECKSUMS, downloadModule, readCrds } from './module-files.ts';
import type { Release } from './releases.ts';

/** A folder with `etcd`, `kube-apiserver`, `kube-controller-manager` and `kubectl` of one release. */
export interface Binaries {
  readonly directory: string;
  readonly release: Release;
  /** Path of kubectl. */
  readonly kubectl: string;
  /** The project in crds.yaml with OpenShift's MachineConfig CRDs. */
  readonly openshiftProject: string;
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
 * @throws MissingControlPlaneError if they are not in the cache and Go is missing or cannot build them
 */
export async function findBinaries(release: Release, log: Log): Promise<Binaries> {
  const directory = await findPrograms('control plane', release, PROGRAMS, log);
  const openshiftProject = `openshift-${release.openshift}`;
  await readCrds(openshiftProject);
  return { directory, release, kubectl: join(directory, 'kubectl'), openshiftProject };
}

const KUBERNETES = 'k8s.io/kubernetes';
/** etcd imports it. Kubernetes itself does not, so that the go.mod of some releases lacks it. */
const ETCD_REQUIREMENT = 'github.com/golang/groupcache v0.0.0-20210331224755-41bb18bfe9da';
const GO_MOD_END = `\nrequire ${ETCD_REQUIREMENT}\n`;

/** The version of the modules that Kubernetes develops in its own repository, such as k8s.io/api. */
function stagingVersionOf({ kubernetes }: Release) {
  return kubernetes.replace(/^1/, 'v0');
}

/**
 * What decides the programs of a release: the tracked checksums of Kubernetes and its staging modules, and the line
 * that is added to its go.mod. Kubernetes' go.sum pins all other modules.
 */
async function readPins(release: Release): Promise<string> {
  const versions = [` v${release.kubernetes}`, ` ${stagingVersionOf(release)}`];
  const lines = (await readFile(join(CHECKSUMS, 'go.sum'), 'utf8')).split('\n');
  const pins = lines.filter((line) => versions.some((version) => new RegExp(`${version}[ /]`).test(line)));
  return pins.join('\n') + GO_MOD_END;
}

/**
 * Writes a go.mod and a go.sum from which Go builds the programs of a release without a checksum database. Both come
 * from the module of Kubernetes, whose checksum is tracked. Its go.sum lacks the staging modules, because Kubernetes
 * replaces them by folders of its repository. Their checksums are tracked, too.
 * @throws MissingControlPlaneError if Go cannot download the module
 */
async function writeKubernetesModule(release: Release, directory: string): Promise<void> {
  await mkdir(directory);
  const version = `v${release.kubernetes}`;
  const source = await downloadModule(`${KUBERNETES}@${version}`);
  const goMod = (await readFile(join(source, 'go.mod'), 'utf8'))
    .replace(/^module .*/m, 'module machineconfig-guard.io/control-plane')
    .replace(/^godebug .*\n/m, '')
    .replaceAll(/=> \.\/staging\/src\/(.*)/g, `=> $1 ${stagingVersionOf(release)}`);
  const goSum = await Promise.all([source, CHECKSUMS].map((folder) => readFile(join(folder, 'go.sum'), 'utf8')));
  await writeFile(join(directory, 'go.mod'), `${goMod}\nrequire ${KUBERNETES} ${version}\n${GO_MOD_END}`);
  await writeFile(join(directory, 'go.sum'), goSum.join(''));
}

/**
 * The folder with these programs of a release: from the cache, or built with Go.
 * @param name of the programs together, such as `control plane`
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findPrograms(name: string, release: Release, programs: readonly Program[], log: Log) {
  // The name changes with the modules, so that an outdated build is never used.
  const hash = createHash('sha256').update(JSON.stringify([await readPins(release), programs]));
  return findGoPrograms({
    directory: cachePath(name.replace(' ', '-'), `${release.kubernetes}-${hash.digest('hex').slice(0, 16)}`),
    what: `${name} of Kubernetes ${release.kubernetes}`,
    programs,
    prepare: (module) => writeKubernetesModule(release, module),
    ldflags: versionFlags(release),
    log,
  });
}

/** Without these an API server calls itself v0.0.0-master, and clients take it for a very old one. */
function versionFlags({ kubernetes }: Release) {
  const [major, minor] = kubernetes.split('.');
  // Kubernetes 1.27 answers /version with that of client-go.
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const values = [`gitVersion=v${kubernetes}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  const flags = packages.flatMap((name) => values.map((value) => `-X ${name}.${value}`));
  return ['-s -w', ...flags].join(' ');
}
