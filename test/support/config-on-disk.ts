import { randomUUID } from 'node:crypto';
import { computeRenderedName } from '../../src/rendered-config/config-hash.ts';
import { parseRenderedConfig, toFileOrigin } from '../../src/rendered-config/rendered-config.ts';
import { renderConfig } from './rendered-configs.ts';

const MCO = 'machineconfiguration.openshift.io';

export type ConfigOnDisk = ReturnType<typeof toConfigOnDisk>;

/** A new rendered config whose name contains the hash of its content. */
export function createConfigOnDisk(pool = 'master', changes: Readonly<Record<string, unknown>> = {}) {
  // As the operator writes empty lists.
  const spec = { ...renderConfig(pool, randomUUID()).spec, extensions: [], kernelArguments: [] };
  return toConfigOnDisk(pool, { ...spec, ...changes });
}

/** The file of this content under another name, or under its own. */
export function toConfigOnDisk(
  pool: string,
  spec: Readonly<Record<string, unknown>>,
  name = computeRenderedName(pool, spec),
) {
  const metadata = {
    name,
    creationTimestamp: null,
    annotations: {
      [`${MCO}/generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
      [`${MCO}/release-image-version`]: '4.20.0',
      'example.com/other': 'not restored',
    },
    labels: { [`${MCO}/role`]: pool },
    ownerReferences: [{ apiVersion: `${MCO}/v1`, kind: 'MachineConfigPool', name: pool, uid: '', controller: true }],
  };
  // The machine-config-server in the cluster writes no kind and no apiVersion.
  const text = JSON.stringify({ metadata, spec });
  // The machine-config-server of the bootstrap host writes an owner without a uid.
  const bootstrapText = JSON.stringify({ kind: 'MachineConfig', apiVersion: `${MCO}/v1`, metadata, spec });
  return { name, spec, text, bootstrapText, config: parseRenderedConfig(text, toFileOrigin(`/disk/${name}.json`)) };
}
