export const NODES_PATH = '/api/v1/nodes';

export const WEBHOOK_CONFIGURATIONS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

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

export function toListPath(collection: string, query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? collection : `${collection}?${search}`;
}
