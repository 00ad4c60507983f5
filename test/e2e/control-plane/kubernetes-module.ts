import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { CHECKSUMS, downloadModule } from './module-files.ts';
import type { Release } from './releases.ts';

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
export async function readPins(release: Release): Promise<string> {
  const versions = [` v${release.kubernetes}`, ` ${stagingVersionOf(release)}`];
  const lines = (await readFile(join(CHECKSUMS, 'go.sum'), 'utf8')).split('\n');
  const pins = lines.filter((line) => versions.some((version) => new RegExp(`${version}[ /]`).test(line)));
  return pins.join('\n') + GO_MOD_END;
}

/**
 * Writes a go.mod and a go.sum from which Go builds the programs of a release without a checksum database. Both come
 * from the module of Kubernetes, whose checksum is tracked. Its go.sum lacks the staging modules, because Kubernetes
 * replaces them by folders of its repository. Their checksums are tracked, too.
 *
 * @throws MissingControlPlaneError if Go cannot download the module
 */
export async function writeKubernetesModule(release: Release, directory: string): Promise<void> {
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
