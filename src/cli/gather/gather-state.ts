import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { mapConcurrently } from '../../common/map-concurrently.ts';
import { isObjectName } from '../../decision/config-name.ts';
import { GUARDS_PATH, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { describeError } from '../../kube/errors.ts';
import { EVENT_REPORTER } from '../../kube/event-recorder.ts';
import { checkCluster } from '../check/check-cluster.ts';
import { accessCluster, ClusterAccessError, parsePath, readObject } from '../../client/cluster-access.ts';
import type { CommandFormatter } from '../../client/output/advice.ts';
import { formatJson } from '../../client/output/output.ts';
import { redact } from './redact.ts';

export interface GatherOptions {
  /** The namespace of the guard. */
  readonly namespace: string;
  /** Limits the logs: `sinceSeconds` or `sinceTime` of a log request. */
  readonly logQuery: Readonly<Record<string, string>>;
  readonly commands: CommandFormatter;
  /** @param file relative path, in the layout of `oc adm inspect` */
  readonly write: (file: string, content: string) => Promise<void>;
  /** @param file what could not be gathered */
  readonly onFailure: (file: string, reason: string) => void;
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
const NAMESPACED_COLLECTIONS = [
  { group: '/apis/apps/v1', resources: ['deployments', 'replicasets'] },
  { group: '/apis/coordination.k8s.io/v1', resources: ['leases'] },
  { group: '/apis/discovery.k8s.io/v1', resources: ['endpointslices'] },
  { group: '/apis/events.k8s.io/v1', resources: ['events'] },
  { group: '/api/v1', resources: ['services'] },
];
/** Other components write thousands of Events into this namespace. */
const OWN_EVENTS_PATH = `/apis/events.k8s.io/v1/namespaces/default/events?${new URLSearchParams({
  fieldSelector: `reportingController=${EVENT_REPORTER}`,
}).toString()}`;
/** A log line has about 500 bytes. */
const MAX_LOG_LINES = 20_000;
const READ_TIMEOUT_MS = 30_000;
/** The API server limits the requests of a user, too. */
const MAX_CONCURRENT_PARTS = 8;

/**
 * Gathers the state of the guard for a bug report. It reads no Secret, no ConfigMap and no content of a
 * MachineConfig. A part that cannot be read does not stop the others. A kind that is not served is no failure.
 *
 * @throws only what `write` throws
 */
export async function gather(
  api: KubeApi,
  { namespace, logQuery, commands, write, onFailure }: GatherOptions,
): Promise<void> {
  const attempt = async <T>(file: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      onFailure(file, explainFailure(error));
      return undefined;
    }
  };
  const gatherText = async (file: string, read: () => Promise<string>): Promise<void> => {
    const text = await attempt(file, read);
    if (text !== undefined) await write(file, redact(text));
  };
  const gatherList = async (path: string): Promise<readonly StoredObject[]> => {
    const file = `${toFile(path)}.yaml`;
    const list = await attempt(file, () => readList(api, path));
    if (list !== undefined) await write(file, redact(toYaml(list)));
    return list?.items ?? [];
  };
  const gatherObjects = async (path: string): Promise<void> => {
    const directory = toFile(path);
    const list = await attempt(directory, () => readList(api, path));
    for (const object of list?.items?.filter(isAboutConfigs) ?? []) {
      const typed = { apiVersion: list?.apiVersion, kind: list?.kind?.replace(/List$/, ''), ...object };
      if (hasObjectName(object)) await write(`${directory}/${object.metadata?.name}.yaml`, redact(toYaml(typed)));
      else onFailure(directory, 'it contains an object with a name that no object can have');
    }
  };
  const podsPath = `/api/v1/namespaces/${namespace}/pods`;
  const pods = await gatherList(podsPath);
  const logs = pods.filter(hasObjectName).flatMap((pod) => listLogs(podsPath, pod, logQuery));
  const namespacedPaths = NAMESPACED_COLLECTIONS.flatMap(({ group, resources }) =>
    resources.map((resource) => `${group}/namespaces/${namespace}/${resource}`),
  );
  const parts = [
    () => gatherText('check.json', async () => formatJson(await checkCluster(api), commands)),
    ...CLUSTER_COLLECTIONS.map((path) => () => gatherObjects(path)),
    ...[...namespacedPaths, OWN_EVENTS_PATH].map((path) => () => gatherList(path)),
    ...logs.map(
      ({ file, path }) =>
        () =>
          gatherText(`namespaces/${namespace}/${file}`, () => readLog(api, path)),
    ),
  ];
  // After a failed write, such as on a full disk, the other parts would fail, too.
  await mapConcurrently<() => Promise<unknown>, unknown>(parts, MAX_CONCURRENT_PARTS, (part) => part());
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

function toYaml(object: object): string {
  return stringify(object, { lineWidth: 0 });
}

async function readList(api: KubeApi, path: string): Promise<StoredList | undefined> {
  return (await readObject(api, path, 'list', AbortSignal.timeout(READ_TIMEOUT_MS))) as StoredList | undefined;
}

/** The log of each container, and the previous log of a container that was restarted. */
function listLogs(
  podsPath: string,
  { metadata, spec, status }: StoredObject,
  logQuery: GatherOptions['logQuery'],
): { readonly file: string; readonly path: string }[] {
  return (spec?.containers ?? [])
    .filter(({ name }) => isObjectName(name))
    .flatMap(({ name }) => {
      const directory = `pods/${metadata?.name}/${name}/${name}/logs`;
      const query = { container: name, tailLines: String(MAX_LOG_LINES), ...logQuery };
      const path = `${podsPath}/${metadata?.name}/log?${new URLSearchParams(query).toString()}`;
      const current = { file: `${directory}/current.log`, path };
      const previous = { file: `${directory}/previous.log`, path: `${path}&previous=true` };
      const containerStatus = status?.containerStatuses?.find((candidate) => candidate.name === name);
      return (containerStatus?.restartCount ?? 0) > 0 ? [current, previous] : [current];
    });
}

async function readLog(api: KubeApi, path: string): Promise<string> {
  const signal = AbortSignal.timeout(READ_TIMEOUT_MS);
  return await accessCluster('get', path, signal, async () => {
    const { body } = await api.request({ path, accept: '*/*', signal });
    return await text(body);
  });
}

function explainFailure(error: unknown): string {
  if (!(error instanceof ClusterAccessError)) return describeError(error);
  return `${error.message}: ${describeError(error.cause)}`;
}
