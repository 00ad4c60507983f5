import { stringify } from 'yaml';
import { isObjectName } from '../../decision/references.ts';
import { GUARDS_PATH, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import { type KubeApi, readText } from '../../kube/api.ts';
import { EVENT_REPORTER } from '../../kube/event-recorder.ts';
import { checkCluster } from '../check/check-cluster.ts';
import { accessCluster, parsePath, readObject } from '../../client/cluster-access.ts';
import type { CommandFormatter } from '../../client/output/advice.ts';
import { formatJson } from '../../client/output/output.ts';

/** The content of each file, by its path in the layout of `oc adm inspect`. */
type Files = Readonly<Record<string, string>>;

/** A part of the state that is read at once. */
export interface Part {
  /** The file, or the directory of several files. */
  readonly name: string;
  /** Without files if the cluster does not serve the kind. */
  readonly read: () => Promise<Files>;
}

/** The fields that a kind does not have are absent. */
interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly containers?: readonly { readonly name: string }[] };
  readonly status?: {
    readonly containerStatuses?: readonly { readonly name: string; readonly restartCount?: number }[];
  };
}

interface StoredList extends StoredObject {
  readonly items?: readonly StoredObject[] | null;
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
/** A log line has about 500 bytes. */
const MAX_LOG_LINES = 20_000;
/** A hostile kubelet ignores it, but then the client ends the response. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;

/**
 * Lists what a bug report needs: no Secret, no ConfigMap and no content of a MachineConfig.
 *
 * @param namespace of the guard
 * @param logQuery limits the logs: `sinceSeconds` or `sinceTime` of a log request
 */
export async function listParts(
  api: KubeApi,
  namespace: string,
  logQuery: Readonly<Record<string, string>>,
  commands: CommandFormatter,
): Promise<readonly Part[]> {
  const podsPath = `/api/v1/namespaces/${namespace}/pods`;
  const podsRead = readList(api, podsPath);
  const pods = (await podsRead.catch(() => undefined))?.items ?? [];
  const lists = [
    `/api/v1/namespaces/${namespace}/services`,
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    `/apis/apps/v1/namespaces/${namespace}/replicasets`,
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
    `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
    // Other components write thousands of Events into this namespace.
    `/apis/events.k8s.io/v1/namespaces/default/events?${EVENTS_OF_GUARD}`,
  ];
  return [
    toPart('check.json', async () => formatJson(await checkCluster(api), commands)),
    toPart(`${toFile(podsPath)}.yaml`, async () => toYaml(await podsRead)),
    ...lists.map((path) => toPart(`${toFile(path)}.yaml`, async () => toYaml(await readList(api, path)))),
    ...CLUSTER_COLLECTIONS.map((path) => ({ name: toFile(path), read: () => readObjects(api, path) })),
    ...pods.filter(hasObjectName).flatMap((pod) => listLogs(api, podsPath, pod, logQuery)),
  ];
}

function toPart(name: string, read: () => Promise<string | undefined>): Part {
  const readFiles = async (): Promise<Files> => {
    const content = await read();
    return content === undefined ? {} : { [name]: content };
  };
  return { name, read: readFiles };
}

function toFile(path: string): string {
  const { group, namespace, resource } = parsePath(path);
  const directory = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`;
  return `${directory}/${group === '' ? 'core' : group}/${resource}`;
}

/** Also webhooks and policies of others for MachineConfigs, which can deny a deletion, too. */
function isAboutConfigs(object: StoredObject): boolean {
  return JSON.stringify(object).includes('machineconfig');
}

/** The name becomes a path, and a hostile API server can send any text. */
function hasObjectName({ metadata }: StoredObject): boolean {
  return isObjectName(metadata?.name ?? '');
}

function toYaml(object: object | undefined): string | undefined {
  return object === undefined ? undefined : stringify(object, { lineWidth: 0 });
}

/** A file for each object. */
async function readObjects(api: KubeApi, path: string): Promise<Files> {
  const { items, apiVersion, kind } = (await readList(api, path)) ?? {};
  const objects = (items ?? []).filter(isAboutConfigs);
  if (!objects.every(hasObjectName)) throw new Error('it contains an object with a name that no object can have');
  const type = { apiVersion, kind: kind?.replace(/List$/, '') };
  return Object.fromEntries(
    objects.map((object) => [`${toFile(path)}/${object.metadata?.name}.yaml`, toYaml({ ...type, ...object }) ?? '']),
  );
}

async function readList(api: KubeApi, path: string): Promise<StoredList | undefined> {
  return (await readObject(api, path, 'list')) as StoredList | undefined;
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
      const limits = { tailLines: String(MAX_LOG_LINES), limitBytes: String(MAX_LOG_BYTES) };
      const all = { container: name, ...limits, ...logQuery, ...query };
      const path = `${podsPath}/${metadata?.name}/log?${new URLSearchParams(all).toString()}`;
      const { namespace } = parsePath(podsPath);
      const directory = `namespaces/${namespace}/pods/${metadata?.name}/${name}/${name}/logs`;
      return toPart(`${directory}/${file}`, () => readLog(api, path));
    });
}

async function readLog(api: KubeApi, path: string): Promise<string> {
  return await accessCluster('get', path, NEVER_ABORTED, async () => {
    return await readText(await api.request({ path, accept: '*/*', signal: NEVER_ABORTED }), NEVER_ABORTED);
  });
}
