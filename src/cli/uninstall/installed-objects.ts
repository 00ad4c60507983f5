import { accessCluster, ClusterAccessError, parsePath } from '../../client/cluster-access.ts';
import { POLICY_BINDINGS_PATH } from '../../install/webhook-configuration.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { INSTALLED_NAME, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { isNotFound, orUndefined } from '../../kube/errors.ts';

/** Part of the JSON of `uninstall`. */
export interface InstalledObject {
  readonly kind: string;
  readonly namespace: string | null;
  readonly name: string;
  readonly uid: string;
}

const TIMEOUT_MS = 30_000;
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
/** Older versions gave these no label. */
const UNLABELED = new Set(['', '-machineconfigs', '-events'].map((suffix) => INSTALLED_NAME + suffix));

/** Whatever denies comes first. The namespace contains all other objects. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  ValidatingWebhookConfiguration: WEBHOOK_CONFIGURATIONS_PATH,
  ValidatingAdmissionPolicyBinding: POLICY_BINDINGS_PATH,
  ValidatingAdmissionPolicy: POLICY_BINDINGS_PATH.replace('policybindings', 'policies'),
  AlertingRule: '/apis/monitoring.openshift.io/v1/namespaces/openshift-monitoring/alertingrules',
  ConfigMap: '/api/v1/namespaces/openshift-config-managed/configmaps',
  RoleBinding: `${RBAC}/namespaces/default/rolebindings`,
  Role: `${RBAC}/namespaces/default/roles`,
  ClusterRoleBinding: `${RBAC}/clusterrolebindings`,
  ClusterRole: `${RBAC}/clusterroles`,
  FlowSchema: '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  Namespace: '/api/v1/namespaces',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
};

/**
 * Finds what any profile of any version has installed.
 *
 * @throws ClusterAccessError
 */
export async function findInstalledObjects(api: KubeApi): Promise<InstalledObject[]> {
  const lists = Object.entries(COLLECTIONS).map(async ([kind, collection]) => {
    const namespace = parsePath(collection).namespace ?? null;
    const objects = await listMetadata(api, collection);
    return objects.flatMap(({ metadata }) => {
      const name = String(metadata?.name);
      const isUnlabeled = collection.startsWith(RBAC) && UNLABELED.has(name);
      if (!isUnlabeled && metadata?.labels?.['app.kubernetes.io/name'] !== INSTALLED_NAME) return [];
      return [{ kind, namespace, name, uid: String(metadata?.uid) }];
    });
  });
  return (await Promise.all(lists)).flat();
}

/** Empty if the API server does not serve the kind. */
async function listMetadata(api: KubeApi, collection: string): Promise<readonly ApiObject[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const list = (await accessCluster('list', collection, signal, () =>
    orUndefined(api.json({ path: collection, accept: METADATA_LIST, signal })),
  )) as { readonly items?: readonly ApiObject[] } | undefined;
  return list?.items ?? [];
}

/** @throws ClusterAccessError */
export async function deleteObject(api: KubeApi, { kind, name, uid }: InstalledObject): Promise<void> {
  const path = objectPath(COLLECTIONS[kind] ?? '', name);
  const options = { propagationPolicy: 'Background', preconditions: { uid } };
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...options };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    await accessCluster('delete', path, signal, () => api.json({ method: 'DELETE', path, body, signal }));
  } catch (error) {
    if (!(error instanceof ClusterAccessError) || !isNotFound(error.cause)) throw error;
  }
}
