import { parsePath, readObject, type StoredList } from '../../client/cluster-access.ts';
import { advise } from '../../client/output/advice.ts';
import { toDeletion } from '../../client/write.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import { POLICY_BINDINGS_PATH } from '../../install/webhook-configuration.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ACCEPT_METADATA_LIST } from '../../kube/media-types.ts';
import type { Step } from '../steps/step-run.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../api/annotations.ts';
import { INSTALLED_NAME } from '../../api/paths.ts';
import { findGitOpsTool } from './gitops-tool.ts';

/** Part of the JSON of `uninstall`. */
export interface InstalledObject {
  readonly kind: string;
  readonly namespace: string | null;
  readonly name: string;
  readonly uid: string;
  /** The GitOps tool that creates it again, as its marks show. */
  readonly appliedBy: string | null;
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** What denies deletions comes first, because without the guard it denies all. The namespace contains other objects. */
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
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  Namespace: '/api/v1/namespaces',
};
const REASON_POLICY = 'webhook-deletion.machineconfig-guard.io';
/** Of every object in manifests/. A namespace of another product can have one of these labels. */
const LABELS = ['name', 'managed-by', 'part-of'].map((label) => `app.kubernetes.io/${label}`);

/**
 * Finds what any profile has installed. What denies deletions comes first.
 * @throws ClusterAccessError, or the signal's reason
 */
export async function findInstalledObjects(api: KubeApi, signal: AbortSignal): Promise<InstalledObject[]> {
  const selector = LABELS.map((label) => `${label}=${INSTALLED_NAME}`).join(',');
  const found: InstalledObject[] = [];
  for (const [kind, collection] of Object.entries(COLLECTIONS)) {
    const path = `${collection}?labelSelector=${encodeURIComponent(selector)}`;
    // Undefined if the API server does not serve the kind.
    const list = await readObject<StoredList<ApiObject>>(api, path, 'list', signal, ACCEPT_METADATA_LIST);
    const namespace = parsePath(collection).namespace ?? null;
    for (const item of list?.items ?? []) {
      const { name, uid } = item.metadata ?? {};
      found.push({ kind, namespace, name: String(name), uid: String(uid), appliedBy: findGitOpsTool(item) });
    }
  }
  return found;
}

/** Steps that give the reasons which the policy `webhook-deletion-reason` wants, if it is installed. */
export function createReasonSteps(objects: readonly InstalledObject[]) {
  const isInstalled = objects.some(({ kind, name }) => kind.endsWith('Binding') && name === REASON_POLICY);
  return objects
    .filter(({ kind }) => isInstalled && kind === 'ValidatingWebhookConfiguration')
    .map(({ kind, name, uid }) => {
      const path = objectPath(WEBHOOK_CONFIGURATIONS_PATH, name);
      const annotations = { [ALLOW_DELETION_ANNOTATION]: 'machineconfig-guard uninstall' };
      const step: Step = {
        action: 'GiveReason',
        description: `give a reason for the deletion of ${kind} ${name}`,
        write: { method: 'PATCH', path, body: { metadata: { uid, annotations } } },
      };
      const look = async (api: KubeApi, signal: AbortSignal): Promise<Step | undefined> => {
        const metadata = await readMetadata(api, path, signal);
        const { [ALLOW_DELETION_ANNOTATION]: reason = '' } = metadata?.annotations ?? {};
        return metadata?.uid !== uid || String(reason).trim() !== '' ? undefined : step;
      };
      return { step, look };
    });
}

async function readMetadata(api: KubeApi, path: string, signal: AbortSignal): Promise<ApiObject['metadata']> {
  return (await readObject<ApiObject>(api, path, 'get', signal))?.metadata;
}

/** The step that deletes an object, as long as it has the labels of the guard. */
export function createDeletionStep(object: InstalledObject) {
  const { kind, namespace, name, uid } = object;
  const path = objectPath(COLLECTIONS[kind] ?? '', name);
  const title = `${kind} ${name}${namespace === null ? '' : ` in namespace ${namespace}`}`;
  const reason = `for ${title} to be removed`;
  const scope = namespace === null ? [] : shell`-n ${namespace}`;
  const show = shell`oc get ${kind.toLowerCase()} ${name} ${scope} -o yaml`;
  const wait = { reason, advice: advise('if it stays, see in its status and finalizers what keeps it', show) };
  const step: Step = {
    action: 'DeleteObject',
    description: `delete ${title}`,
    write: toDeletion(path, uid),
  };
  const look = async (api: KubeApi, signal: AbortSignal): Promise<Step | undefined> => {
    const metadata = await readMetadata(api, path, signal);
    if (LABELS.some((label) => metadata?.labels?.[label] !== INSTALLED_NAME)) return undefined;
    const isTerminating = metadata?.deletionTimestamp !== undefined;
    // It can have been created again since it was listed.
    return { ...step, write: toDeletion(path, String(metadata?.uid)), wait: isTerminating ? wait : undefined };
  };
  return { object, step, look };
}
