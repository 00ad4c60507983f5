import { stringify } from 'yaml';
import { accessCluster, parsePath, readObject } from '../../client/cluster-access.ts';
import type { CommandFormatter } from '../../client/output/advice.ts';
import { formatJson } from '../../client/output/output.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import { isObjectName } from '../../decision/references.ts';
import { GUARDS_PATH, INSTALLED_NAME, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import { type KubeApi, readText } from '../../kube/api.ts';
import { EVENT_REPORTER } from '../../kube/event-recorder.ts';
import { checkCluster } from '../check/check-cluster.ts';

/** A part of the state. */
interface Part {
  readonly file: string;
  /** Undefined if the cluster does not serve the kind. */
  readonly read: () => Promise<string | undefined>;
}

/** A list of objects, or a pod. */
interface StoredObject {
  readonly items?: readonly StoredObject[] | null;
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly containers?: readonly { readonly name: string }[] };
  readonly status?: { readonly containerStatuses?: readonly { name: string; restartCount?: number }[] };
}

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
/** No kind here has secrets. Kubernetes before 1.30 (OpenShift 4.17) does not serve the policies. */
const CLUSTER_COLLECTIONS = [
  GUARDS_PATH,
  WEBHOOK_CONFIGURATIONS_PATH,
  `${ADMISSION}/validatingadmissionpolicies`,
  `${ADMISSION}/validatingadmissionpolicybindings`,
];
const EVENTS_OF_GUARD = new URLSearchParams({ fieldSelector: `reportingController=${EVENT_REPORTER}` }).toString();
/** A log line has about 500 bytes. A hostile kubelet ignores the limits, but then the client ends the response. */
const LOG_LIMITS = { tailLines: '20000', limitBytes: String(10 * 1024 * 1024) };

/**
 * Lists what a bug report needs: no Secret, no ConfigMap and no content of a MachineConfig.
 *
 * @param logQuery limits the logs
 */
export async function listParts(
  api: KubeApi,
  logQuery: Readonly<Record<string, string>>,
  commands: CommandFormatter,
): Promise<readonly Part[]> {
  const podsPath = `/api/v1/namespaces/${INSTALLED_NAME}/pods`;
  const collections = [
    podsPath,
    `/api/v1/namespaces/${INSTALLED_NAME}/services`,
    `/apis/apps/v1/namespaces/${INSTALLED_NAME}/deployments`,
    `/apis/apps/v1/namespaces/${INSTALLED_NAME}/replicasets`,
    `/apis/coordination.k8s.io/v1/namespaces/${INSTALLED_NAME}/leases`,
    `/apis/discovery.k8s.io/v1/namespaces/${INSTALLED_NAME}/endpointslices`,
    `/apis/events.k8s.io/v1/namespaces/${INSTALLED_NAME}/events`,
    // Other components write thousands of Events into this namespace.
    `/apis/events.k8s.io/v1/namespaces/default/events?${EVENTS_OF_GUARD}`,
    ...CLUSTER_COLLECTIONS,
  ];
  const pods = (await readList(api, podsPath).catch(() => undefined))?.items ?? [];
  return [
    { file: 'check.json', read: async () => formatJson(await checkCluster(api), commands) },
    ...collections.map((path) => ({ file: toFile(path), read: async () => toYaml(path, await readList(api, path)) })),
    // The name becomes a path, and a hostile API server can send any text.
    ...pods
      .filter(({ metadata }) => isObjectName(metadata?.name ?? ''))
      .flatMap((pod) => listLogs(api, podsPath, pod, logQuery)),
  ];
}

async function readList(api: KubeApi, path: string): Promise<StoredObject | undefined> {
  return (await readObject(api, path, 'list')) as StoredObject | undefined;
}

function toFile(path: string): string {
  const { group, namespace, resource } = parsePath(path);
  const directory = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`;
  return `${directory}/${group === '' ? 'core' : group}/${resource}.yaml`;
}

/** Webhooks and policies of others for MachineConfigs can deny a deletion, too. */
function toYaml(path: string, list: StoredObject | undefined): string | undefined {
  if (list === undefined) return undefined;
  const isKept = (object: StoredObject): boolean =>
    !CLUSTER_COLLECTIONS.includes(path) || JSON.stringify(object).includes('machineconfig');
  return stringify({ ...list, items: (list.items ?? []).filter(isKept) }, { lineWidth: 0 });
}

/** The log of each container, and the previous log of a container that was restarted. */
function listLogs(
  api: KubeApi,
  podsPath: string,
  { metadata, spec, status }: StoredObject,
  logQuery: Readonly<Record<string, string>>,
): readonly Part[] {
  const restarted = (status?.containerStatuses ?? []).filter(({ restartCount = 0 }) => restartCount > 0);
  const logs = [
    ...(spec?.containers ?? []).map(({ name }) => ({ name, file: 'current.log', query: {} })),
    ...restarted.map(({ name }) => ({ name, file: 'previous.log', query: { previous: 'true' } })),
  ];
  return logs
    .filter(({ name }) => isObjectName(name))
    .map(({ name, file, query }) => {
      const all = { container: name, ...LOG_LIMITS, ...logQuery, ...query };
      const path = `${podsPath}/${metadata?.name}/log?${new URLSearchParams(all).toString()}`;
      const directory = `namespaces/${parsePath(podsPath).namespace}/pods/${metadata?.name}/${name}/${name}/logs`;
      return { file: `${directory}/${file}`, read: () => readLog(api, path) };
    });
}

async function readLog(api: KubeApi, path: string): Promise<string> {
  const request = { path, accept: '*/*', signal: NEVER_ABORTED };
  return await accessCluster('get', path, NEVER_ABORTED, async () =>
    readText(await api.request(request), NEVER_ABORTED),
  );
}
