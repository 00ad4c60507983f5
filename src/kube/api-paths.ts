export const NODES_PATH = '/api/v1/nodes';

export const WEBHOOK_CONFIGURATIONS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** Returns the path of a Deployment. */
export function deploymentPath(namespace: string, name: string): string {
  return objectPath(`/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments`, name);
}

/** Returns the path of the collection of Leases in a namespace. */
export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
}

/** Returns the path of an object in a collection. */
export function objectPath(collection: string, name: string): string {
  return `${collection}/${encodeURIComponent(name)}`;
}

/** `/api/v1/RESOURCE` or `/apis/GROUP/VERSION/RESOURCE`, perhaps in a namespace. */
const COLLECTION =
  /^\/apis?\/(?:(?<group>[^/]+)\/)?(?<version>v[^/]+)\/(?<namespace>namespaces\/[^/]+\/)?(?<resource>[^/]+)$/;

/** Splits the path of a collection. Throws Error for another path. */
export function parseCollection(path: string) {
  const { group = '', version, resource, namespace } = COLLECTION.exec(path)?.groups ?? {};
  if (version === undefined || resource === undefined) throw new Error(`${path} is not the path of a collection`);
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return { apiVersion, group, version, resource, isNamespaced: namespace !== undefined };
}
