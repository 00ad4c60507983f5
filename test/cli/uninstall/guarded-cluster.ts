import { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import { INSTALLED_NAME } from '../../../src/api/paths.ts';

export const LABELS = Object.fromEntries(
  ['name', 'managed-by', 'part-of'].map((label) => [`app.kubernetes.io/${label}`, INSTALLED_NAME]),
);
export const IN_USE = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const UNUSED = IN_USE.replace('-a', '-b');

/** In the order in which they must be deleted, with the resource of each. */
export const INSTALLED = [
  ['validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', ''],
  ['validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', ''],
  ['alertingrules', 'AlertingRule', 'openshift-monitoring'],
  ['configmaps', 'ConfigMap', 'openshift-config-managed'],
  ['clusterroles', 'ClusterRole', ''],
  ['customresourcedefinitions', 'CustomResourceDefinition', ''],
  ['namespaces', 'Namespace', ''],
] as const;

/** Adds the objects of an installation, a config in use and one that is unused. */
export function createGuardedCluster(cluster = new InMemoryCluster()): InMemoryCluster {
  for (const [resource, , namespace] of INSTALLED) {
    cluster.create(resource, { metadata: { name: INSTALLED_NAME, namespace, labels: LABELS } });
  }
  for (const name of [IN_USE, UNUSED]) cluster.create('machineconfigs', { metadata: { name }, spec: {} });
  const spec = { configuration: { name: IN_USE }, nodeSelector: {} };
  cluster.create('machineconfigpools', { metadata: { name: 'worker' }, spec });
  return cluster;
}

/** Those of {@link INSTALLED} that exist, as their steps name them. */
export function listInstalled(cluster: InMemoryCluster): string[] {
  return INSTALLED.flatMap(([resource, kind, namespace]) => {
    if (cluster.get(resource, INSTALLED_NAME, namespace) === undefined) return [];
    return [`${kind} ${INSTALLED_NAME}${namespace === '' ? '' : ` in namespace ${namespace}`}`];
  });
}
