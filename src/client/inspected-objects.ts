import type {
  Condition,
  InspectedBuild,
  InspectedNode,
  InspectedOsConfig,
  InspectedPool,
} from '../diagnosis/cluster-snapshot.ts';
import { parseDaemonReason } from '../diagnosis/daemon-reason.ts';
import { type ApiObject, findLastWrite, type ManagedWrite, parseTime } from '../kube/api-object.ts';
import { listPoolSources } from '../rendered-config/rendered-config.ts';
import { PAUSED_FOR_MACHINES, PAUSED_FOR_RESTORE } from '../api/annotations.ts';
import { findLatest } from '../diagnosis/times.ts';
import { MCO_GROUP } from '../mco/api-paths.ts';
import { findReferencedConfig } from '../mco/referrer.ts';
import { BUILDS, NODES, POOLS } from '../mco/resources.ts';

type Fields = Readonly<Record<string, unknown>>;

/** As the controller of nodes writes it (Kubernetes, pkg/controller/nodelifecycle). */
const UNREPORTED = /stopped posting node status|never posted node status/;
/** Those that CheckNodeReady in pkg/controller/common/layered_node_state.go requires to be False. */
const PRESSURES: ReadonlySet<string> = new Set(['DiskPressure', 'NetworkUnavailable']);
/** The field managers of the operator. Writes of others are no progress of a roll-out. */
const OPERATOR_MANAGERS: ReadonlySet<string> = new Set(['machine-config-controller', 'machine-config-daemon']);

/**
 * Parses a whole node, or only its metadata: then nothing is known about its conditions.
 * @throws MalformedObject if a reference cannot be read
 */
export function parseInspectedNode(node: ApiObject): InspectedNode {
  const { labels, creationTimestamp, deletionTimestamp, finalizers = [] } = node.metadata ?? {};
  const reason = readAnnotation(node, 'reason');
  const drainRequest = readAnnotation(node, 'desiredDrain');
  const wantsDrain = drainRequest.startsWith('drain-');
  const isDrained = wantsDrain && drainRequest === readAnnotation(node, 'lastAppliedDrain');
  const { unschedulable } = (node.spec ?? {}) as Fields;
  const conditions = parseConditions(node);
  const desiredConfigWrite = findAnnotationWrite(node, 'desiredConfig');
  const referrer = NODES.parse(node);
  return {
    ...referrer,
    currentConfig: findReferencedConfig(referrer, 'currentConfig'),
    desiredConfig: findReferencedConfig(referrer, 'desiredConfig'),
    hasNewImage: readAnnotation(node, 'desiredImage') !== readAnnotation(node, 'currentImage'),
    labels: labels ?? {},
    createdAt: parseTime(creationTimestamp),
    movedAt: findLatest([findOperatorWrite(node, ['f:metadata', 'f:annotations']), desiredConfigWrite?.at]),
    daemonState: readAnnotation(node, 'state'),
    reason,
    daemonReason: parseDaemonReason(reason),
    currentConfigWrite: findAnnotationWrite(node, 'currentConfig'),
    desiredConfigWrite,
    drain: wantsDrain && !isDrained ? { since: findAnnotationWrite(node, 'desiredDrain')?.at } : undefined,
    isDrained,
    cordon: unschedulable === true ? { write: findLastWrite(node, ['f:spec', 'f:unschedulable']) } : undefined,
    readiness: readReadiness(conditions),
    finalizers: deletionTimestamp === undefined ? undefined : [finalizers].flat().map(String),
    pressure: conditions.find(({ type, status }) => PRESSURES.has(type) && status !== 'False'),
  };
}

/** Undefined without the condition `Ready`. */
function readReadiness(conditions: readonly Condition[]): InspectedNode['readiness'] {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return (
    ready && {
      isReady: ready.status === 'True',
      since: ready.since,
      message: ready.message,
      isReported: ready.status === 'False' && ready.message !== '' && !UNREPORTED.test(ready.message),
    }
  );
}

/** @throws MalformedObject if a reference cannot be read */
export function parseInspectedPool(pool: ApiObject): InspectedPool {
  const { annotations, labels, creationTimestamp, uid, resourceVersion } = pool.metadata ?? {};
  const pausedFor = annotations?.[PAUSED_FOR_RESTORE];
  const { paused, machineConfigSelector, maxUnavailable } = (pool.spec ?? {}) as Fields;
  const status = (pool.status ?? {}) as Fields;
  const conditions = parseConditions(pool);
  const trueConditions = conditions.filter((condition) => condition.status === 'True');
  const rolloutChanges = conditions.filter(({ type }) => type === 'Updated' || type === 'Updating');
  const referrer = POOLS.parse(pool);
  return {
    ...referrer,
    specConfig: findReferencedConfig(referrer, 'spec'),
    statusConfig: findReferencedConfig(referrer, 'status'),
    uid: String(uid),
    resourceVersion: String(resourceVersion),
    createdAt: parseTime(creationTimestamp),
    paused: paused === true,
    pause: paused === true ? findLastWrite(pool, ['f:spec', 'f:paused']) : undefined,
    ...(typeof pausedFor === 'string' ? { pausedFor } : {}),
    pausedForMachines: Number(annotations?.[PAUSED_FOR_MACHINES]) || undefined,
    machineCount: Number(status['machineCount']) || 0,
    updatedMachineCount: Number(status['updatedMachineCount']) || 0,
    degradedMachineCount: Number(status['degradedMachineCount']) || 0,
    unavailableMachineCount: Number(status['unavailableMachineCount']) || 0,
    movedAt: findLatest([
      // The operator acts on each setting.
      findLastWrite(pool, ['f:spec'])?.at,
      findOperatorWrite(pool, ['f:status'], 'status'),
      ...rolloutChanges.map(({ since }) => since),
    ]),
    conditions: Object.fromEntries(trueConditions.map((condition) => [condition.type, condition])),
    labels: labels ?? {},
    machineConfigSelector,
    maxUnavailable: maxUnavailable as InspectedPool['maxUnavailable'],
    sources: listPoolSources(pool),
  };
}

/** @throws MalformedObject if a reference cannot be read */
export function parseInspectedBuild(build: ApiObject): InspectedBuild {
  const { machineOSConfig } = (build.spec ?? {}) as { readonly machineOSConfig?: { readonly name?: unknown } };
  const conditions = parseConditions(build).filter(({ status }) => status === 'True');
  const failure = conditions.find(({ type }) => type === 'Failed' || type === 'Interrupted');
  const osConfig = machineOSConfig?.name;
  return {
    ...BUILDS.parse(build),
    osConfig: typeof osConfig === 'string' ? osConfig : undefined,
    failure: failure && (failure.message || failure.type),
    isSuccessful: conditions.some(({ type }) => type === 'Succeeded'),
    image: toText((build.status as Fields | undefined)?.['digestedImagePushSpec']),
    createdAt: parseTime(build.metadata?.creationTimestamp),
  };
}

export function parseInspectedOsConfig(osConfig: ApiObject): InspectedOsConfig {
  const { machineConfigPool } = (osConfig.spec ?? {}) as { readonly machineConfigPool?: { readonly name?: unknown } };
  const build = readAnnotation(osConfig, 'current-machine-os-build');
  const hasRebuild = osConfig.metadata?.annotations?.[`${MCO_GROUP}/rebuild`] !== undefined;
  return {
    name: String(osConfig.metadata?.name),
    pool: String(machineConfigPool?.name),
    currentBuild: build === '' ? undefined : build,
    image: toText((osConfig.status as Fields | undefined)?.['currentImagePullSpec']),
    rebuild: hasRebuild ? { since: findAnnotationWrite(osConfig, 'rebuild')?.at } : undefined,
  };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** @returns an empty text if the annotation is absent */
function readAnnotation({ metadata }: ApiObject, key: string): string {
  return toText(metadata?.annotations?.[`${MCO_GROUP}/${key}`]);
}

function findOperatorWrite(object: ApiObject, path: readonly string[], subresource?: string): Date | undefined {
  return findLastWrite(object, path, subresource, (manager) => OPERATOR_MANAGERS.has(manager))?.at;
}

function findAnnotationWrite(object: ApiObject, key: string): ManagedWrite | undefined {
  return findLastWrite(object, ['f:metadata', 'f:annotations', `f:${MCO_GROUP}/${key}`]);
}

/** The conditions in the status of any object. */
export function parseConditions({ status }: ApiObject): readonly Condition[] {
  const { conditions } = (status ?? {}) as Fields;
  const all = (Array.isArray(conditions) ? conditions : []) as readonly (Fields | null)[];
  return all.map((condition) => ({
    type: toText(condition?.['type']),
    status: toText(condition?.['status']),
    message: toText(condition?.['message']) || toText(condition?.['reason']),
    reason: toText(condition?.['reason']),
    since: parseTime(condition?.['lastTransitionTime']),
  }));
}
