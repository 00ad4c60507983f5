import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import type { ModuleFiles } from '../control-plane/module-files.ts';
import { parseObjects } from '../support/kubectl.ts';

/** The version in cluster.yaml. */
export const RELEASE_VERSION = '4.20.0';

/** The kinds that the operator watches, besides those of every control plane of the tests. */
export const OPERATOR_CRDS: ModuleFiles = {
  // A commit of its own, because the cache of a module has only the files of one caller.
  module: 'github.com/openshift/api@v0.0.0-20250711200046-c86d80652a9e',
  files: [
    ['config/v1', '00_cluster-version-operator', 'clusterversions-Default'],
    ['config/v1', '10_config-operator', 'apiservers'],
    ['config/v1', '10_config-operator', 'featuregates'],
    ['config/v1', '10_config-operator', 'imagedigestmirrorsets'],
    ['config/v1', '10_config-operator', 'images-Default'],
    ['config/v1', '10_config-operator', 'imagetagmirrorsets'],
    ['config/v1', '10_config-operator', 'infrastructures-Default'],
    ['config/v1', '10_config-operator', 'nodes-Default'],
    ['config/v1', '10_config-operator', 'schedulers-Default'],
    ['operator/v1alpha1', '10_config-operator', 'imagecontentsourcepolicies'],
    ['machineconfiguration/v1', '80_machine-config', 'containerruntimeconfigs'],
    ['machineconfiguration/v1', '80_machine-config', 'controllerconfigs-Default'],
    ['machineconfiguration/v1', '80_machine-config', 'kubeletconfigs'],
  ].map(([group, owner, name]) => `${group}/zz_generated.crd-manifests/0000_${owner}_01_${name}.crd.yaml`),
};

const OBJECTS = parseObjects(readFileSync(join(import.meta.dirname, 'cluster.yaml'), 'utf8'));

/** The object of this kind that the operator reads in every cluster of the tests. */
export function findOperatorObject(kind: string): KubeObject {
  const object = OBJECTS.find((candidate) => candidate.kind === kind);
  if (object === undefined) throw new Error(`cluster.yaml has no ${kind}`);
  return object;
}

/** Creates the objects of cluster.yaml. */
export async function createOperatorObjects(admin: KubeClient): Promise<void> {
  for (const object of OBJECTS) {
    const { apiVersion, kind, metadata, status } = object;
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    const path = `${root}${scope}/${kind.toLowerCase()}s`;
    await admin.create(path, object);
    if (status !== undefined) await admin.patch(`${path}/${metadata.name}/status`, { status });
  }
}
