import { accessCluster, ClusterAccessError } from '../../client/cluster-access.ts';
import { ADMISSION_POLICIES } from '../../install/webhook-configuration.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { INSTALLED_NAME, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { isNotFound, orUndefined } from '../../kube/errors.ts';

export interface InstalledObject {
  readonly kind: string;
  readonly namespace: string | null;
  readonly name: string;
  readonly uid: string;
  readonly path: string;
}

interface InstalledKind {
  readonly kind: string;
  /** The path of the API version. */
  readonly api: string;
  readonly namespace?: string;
  readonly resource: string;
  readonly names: readonly string[];
}

const TIMEOUT_MS = 30_000;
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const LABEL = 'app.kubernetes.io/name';
const ADMISSION = WEBHOOK_CONFIGURATIONS_PATH.replace(/\/[^/]+$/, '');
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const POLICIES = [
  ...Object.values(ADMISSION_POLICIES),
  'references.machineconfig-guard.io',
  'settings.machineconfig-guard.io',
];
/** Versions before the label named their objects only. */
const withSuffixes = (...suffixes: readonly string[]): string[] => [
  INSTALLED_NAME,
  ...suffixes.map((suffix) => `${INSTALLED_NAME}-${suffix}`),
];
const ROLES = withSuffixes('machineconfigs', 'metrics', 'reader', 'restore', 'restore-from-node', 'verify', 'view');
const EVENTS_ROLE = { namespace: 'default', api: RBAC, names: withSuffixes('events').slice(1) };

/** Whatever denies comes first. The namespace and the CRD contain all other objects. */
function listKinds(namespace: string): InstalledKind[] {
  const policies = { api: ADMISSION, names: POLICIES };
  return [
    {
      kind: 'ValidatingWebhookConfiguration',
      api: ADMISSION,
      resource: 'validatingwebhookconfigurations',
      names: [INSTALLED_NAME],
    },
    { kind: 'ValidatingAdmissionPolicyBinding', resource: 'validatingadmissionpolicybindings', ...policies },
    { kind: 'ValidatingAdmissionPolicy', resource: 'validatingadmissionpolicies', ...policies },
    {
      kind: 'AlertingRule',
      api: '/apis/monitoring.openshift.io/v1',
      namespace: 'openshift-monitoring',
      resource: 'alertingrules',
      names: [INSTALLED_NAME],
    },
    {
      kind: 'ConfigMap',
      api: '/api/v1',
      namespace: 'openshift-config-managed',
      resource: 'configmaps',
      names: withSuffixes('dashboard').slice(1),
    },
    { kind: 'RoleBinding', resource: 'rolebindings', ...EVENTS_ROLE },
    { kind: 'Role', resource: 'roles', ...EVENTS_ROLE },
    { kind: 'ClusterRoleBinding', api: RBAC, resource: 'clusterrolebindings', names: ROLES },
    { kind: 'ClusterRole', api: RBAC, resource: 'clusterroles', names: ROLES },
    {
      kind: 'FlowSchema',
      api: '/apis/flowcontrol.apiserver.k8s.io/v1',
      resource: 'flowschemas',
      names: [INSTALLED_NAME],
    },
    { kind: 'Namespace', api: '/api/v1', resource: 'namespaces', names: [namespace] },
    {
      kind: 'CustomResourceDefinition',
      api: '/apis/apiextensions.k8s.io/v1',
      resource: 'customresourcedefinitions',
      names: ['machineconfigguards.machineconfig-guard.io'],
    },
  ];
}

/**
 * Finds what any profile of any version has installed: by the label, or by a known name.
 *
 * @throws ClusterAccessError
 */
export async function findInstalledObjects(api: KubeApi, namespace: string): Promise<InstalledObject[]> {
  const lists = await Promise.all(listKinds(namespace).map((kind) => listObjects(api, kind)));
  return lists.flat();
}

async function listObjects(api: KubeApi, kind: InstalledKind): Promise<InstalledObject[]> {
  const { namespace, names } = kind;
  const folder = namespace === undefined ? kind.api : `${kind.api}/namespaces/${namespace}`;
  const collection = `${folder}/${kind.resource}`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const list = (await accessCluster('list', collection, signal, () =>
    // Old versions of the API server do not serve all kinds.
    orUndefined(api.json({ path: collection, accept: METADATA_LIST, signal })),
  )) as { readonly items?: readonly ApiObject[] } | undefined;
  return (list?.items ?? []).flatMap(({ metadata }) => {
    const name = String(metadata?.name);
    if (!names.includes(name) && metadata?.labels?.[LABEL] !== INSTALLED_NAME) return [];
    const path = objectPath(collection, name);
    return [{ kind: kind.kind, namespace: namespace ?? null, name, uid: String(metadata?.uid), path }];
  });
}

/** @throws ClusterAccessError */
export async function deleteObject(api: KubeApi, { path, uid }: InstalledObject): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: 'Background',
    preconditions: { uid },
  };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    await accessCluster('delete', path, signal, () => api.json({ method: 'DELETE', path, body, signal }));
  } catch (error) {
    if (!(error instanceof ClusterAccessError) || !isNotFound(error.cause)) throw error;
  }
}
