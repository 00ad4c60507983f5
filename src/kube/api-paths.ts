/** The API group of the Machine Config Operator, also the prefix of its annotations. */
export const MCO_GROUP = 'machineconfiguration.openshift.io';
const MCO_V1 = `/apis/${MCO_GROUP}/v1`;

export const NODES_PATH = '/api/v1/nodes';
export const MACHINE_CONFIGS_PATH = `${MCO_V1}/machineconfigs`;
export const POOLS_PATH = `${MCO_V1}/machineconfigpools`;
/** v1 from OpenShift 4.18 on, v1alpha1 as a preview in 4.16 and 4.17. Preferred version first. */
export const BUILDS_PATHS = [`${MCO_V1}/machineosbuilds`, `/apis/${MCO_GROUP}/v1alpha1/machineosbuilds`] as const;

export const GUARDS_PATH = '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards';
export const GUARD_NAME = 'cluster';
export const GUARD_PATH = `${GUARDS_PATH}/${GUARD_NAME}`;

export const WEBHOOK_CONFIGURATIONS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** `restore` sets it in the write that pauses a pool. Its value is the config that is being restored. */
export const PAUSED_FOR_RESTORE = 'machineconfig-guard.io/paused-for-restore';

export const AUTHORITY_SECRET_PATH = '/api/v1/namespaces/machineconfig-guard/secrets/machineconfig-guard-ca';

/** The name of the webhook configuration, the Deployment, the Lease and the namespace in the manifests. */
export const INSTALLED_NAME = 'machineconfig-guard';

export const API_SERVERS_PATH = '/apis/config.openshift.io/v1/apiservers';

export function deploymentPath(namespace: string, name: string): string {
  return objectPath(`/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments`, name);
}

export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
}

export function objectPath(collection: string, name: string): string {
  return `${collection}/${encodeURIComponent(name)}`;
}

/** `/api/v1/RESOURCE` or `/apis/GROUP/VERSION/RESOURCE`, perhaps in a namespace. */
const COLLECTION =
  /^\/apis?\/(?:(?<group>[^/]+)\/)?(?<version>v[^/]+)\/(?<namespace>namespaces\/[^/]+\/)?(?<resource>[^/]+)$/;

export function parseCollection(path: string) {
  const { group = '', version, resource, namespace } = COLLECTION.exec(path)?.groups ?? {};
  if (version === undefined || resource === undefined) throw new Error(`${path} is not the path of a collection`);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return { apiVersion, group, version, resource, isNamespaced: namespace !== undefined };
}
