import type { Cluster } from './cluster.ts';
import { PATHS } from './paths.ts';

/** The namespace of the Machine Config Operator, which every OpenShift cluster has. */
export const OPERATOR_NAMESPACE = 'openshift-machine-config-operator';

export async function ensureOperatorNamespace({ admin }: Cluster): Promise<void> {
  if ((await admin.find(`${PATHS.namespaces}/${OPERATOR_NAMESPACE}`)) !== undefined) return;
  await admin.create(PATHS.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: OPERATOR_NAMESPACE },
  });
}
