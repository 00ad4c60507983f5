import { MCO_GROUP } from '../../kube/api-paths.ts';
import { computeRenderedName } from '../../rendered-config/config-hash.ts';
import { MASTER_POOL } from './pool.ts';

export type MachineConfig = ReturnType<typeof renderMachineConfig>;

/**
 * A rendered config of pool master with one file in its Ignition config.
 *
 * @param uid of the pool that owns it. Empty in a config that was rendered outside of the cluster
 */
export function renderMachineConfig(fileContent: string, uid = '') {
  const contents = { source: `data:,${encodeURIComponent(fileContent)}` };
  const spec = {
    config: {
      ignition: { version: '3.4.0' },
      storage: { files: [{ path: '/etc/chrony.conf', mode: 420, overwrite: true, contents }] },
    },
    fips: false,
    kernelType: 'default',
    osImageURL: `quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${'ac2ad5b01eed7b02'.repeat(4)}`,
  };
  const apiVersion = `${MCO_GROUP}/v1`;
  const owner = { apiVersion, kind: 'MachineConfigPool', name: MASTER_POOL, uid };
  return {
    apiVersion,
    kind: 'MachineConfig',
    metadata: {
      name: computeRenderedName(MASTER_POOL, spec),
      annotations: {
        [`${MCO_GROUP}/generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
        [`${MCO_GROUP}/release-image-version`]: '4.18.30',
      },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec,
  };
}
