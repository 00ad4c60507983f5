import { toSeconds } from '../../common/duration.ts';
import { groupBy } from '../../common/group-by.ts';
import { orForbidden, readObject } from '../../client/cluster-access.ts';
import { listAll, listServed } from '../../client/cluster-reader.ts';
import { parseConditions } from '../../client/inspected-objects.ts';
import type {
  BlockingBudget,
  ClusterSnapshot,
  DrainObstacles,
  FailedSource,
  InspectedPool,
  StoppedOperator,
} from '../../diagnosis/cluster-snapshot.ts';
import { findInvalidRequirement } from '../../diagnosis/pool-labels.ts';
import { findLatest } from '../../diagnosis/times.ts';
import { type ApiObject, parseTime } from '../../kube/api-object.ts';
import { deploymentPath, leasesPath, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { MCO_GROUP } from '../../mco/api-paths.ts';
import { type Labels, matchesNodeSelector } from '../../mco/pool-of-node.ts';

// What can hold the operator back, apart from what the lists of nodes and pools say.

const OPERATOR_NAMESPACE = 'openshift-machine-config-operator';
const CONTROLLER = 'machine-config-controller';
const DEPLOYMENTS = ['machine-config-operator', CONTROLLER];
/** The operator deploys it only for image mode. */
const IMAGE_BUILDER = 'machine-os-builder';
/** A Lease is renewed every 26 s, a Deployment is available within minutes after a reboot, and a pod ends in time. */
const MAX_OUTAGE_MS = 10 * 60_000;
const MAX_DRAINS = 5;
const CLUSTER_OPERATOR = '/apis/config.openshift.io/v1/clusteroperators/machine-config';

const BUDGETS = {
  kind: 'PodDisruptionBudget',
  paths: ['/apis/policy/v1/poddisruptionbudgets'],
  isNamespaced: true,
} as const;
const PODS = { kind: 'Pod', paths: ['/api/v1/pods'], isNamespaced: true } as const;

type Fields = Readonly<Record<string, unknown>>;
type Budget = ReturnType<typeof parseBudget>;
type Pod = ReturnType<typeof parsePod>;

type Obstacles = Required<
  Pick<ClusterSnapshot, 'stoppedOperators' | 'operatorFailure' | 'drainObstacles' | 'failedSources' | 'unreadable'>
>;

/** Reads a resource. Without the right it notes the resource, and returns undefined. */
type Read = <T>(resource: string, reading: Promise<T>) => Promise<T | undefined>;

/**
 * Reads which parts of the operator do not run, whether it says that it fails, which sources of configs failed, and
 * what blocks the drains of nodes.
 * @throws ClusterAccessError, except for a missing right; or the signal's reason
 */
export async function readObstacles(
  api: KubeApi,
  { nodes, pools, osConfigs = [] }: Pick<ClusterSnapshot, 'nodes' | 'osConfigs' | 'pools'>,
  now: Date,
  signal: AbortSignal,
): Promise<Obstacles> {
  const unreadable = new Set<string>();
  const read: Read = async (resource, reading) => {
    const result = await orForbidden(reading.then((value) => ({ value })));
    if (result === undefined) unreadable.add(resource);
    return result?.value;
  };
  const deployments = osConfigs.length === 0 ? DEPLOYMENTS : [...DEPLOYMENTS, IMAGE_BUILDER];
  const stoppedOperators = await readStoppedOperators(api, deployments, now, read, signal);
  const operator = await read('clusteroperators', readObject<ApiObject>(api, CLUSTER_OPERATOR, 'get', signal));
  // The builder says so only in its log (validateMachineOSConfig in pkg/controller/build/helpers.go).
  const withoutPool = osConfigs
    .filter(({ pool }) => pools.every(({ name }) => name !== pool))
    .map(({ name, pool }) => ({ kind: 'MachineOSConfig', name, message: `no pool ${pool} exists`, pools: [] }));
  const failedSources = [...withoutPool, ...(await readFailedSources(api, pools, read, signal))];
  const draining = nodes
    .filter(({ drain, daemonReason }) => drain !== undefined || daemonReason.type === 'drainFailed')
    .map(({ name }) => name);
  const drainObstacles = await readDrainObstacles(api, draining.slice(0, MAX_DRAINS), now, read, signal);
  return {
    stoppedOperators,
    drainObstacles,
    failedSources,
    operatorFailure: findCondition(operator, 'Degraded', 'True'),
    unreadable: [...unreadable],
  };
}

function findCondition(object: ApiObject | undefined, type: string, status: string) {
  return parseConditions(object ?? {}).find((condition) => condition.type === type && condition.status === status);
}

async function readFailedSources(
  api: KubeApi,
  pools: readonly InspectedPool[],
  read: Read,
  signal: AbortSignal,
): Promise<readonly FailedSource[]> {
  const failed: FailedSource[] = [];
  for (const kind of ['KubeletConfig', 'ContainerRuntimeConfig']) {
    const name = `${kind.toLowerCase()}s`;
    const parse = (source: ApiObject): FailedSource[] => {
      // The operator appends each new condition.
      const last = parseConditions(source).at(-1);
      const { generation } = readFields(source.metadata);
      // The operator has not yet seen the last change.
      const isOld = Number(readFields(source.status)['observedGeneration']) < Number(generation);
      if (last?.type !== 'Failure' || isOld) return [];
      const selected = pools.filter(({ labels }) =>
        selects(readFields(source.spec)['machineConfigPoolSelector'], labels),
      );
      const names = selected.map(({ name }) => name);
      return [{ kind, name: String(source.metadata?.name), message: last.message, pools: names }];
    };
    const resource = { kind, name, paths: [`/apis/${MCO_GROUP}/v1/${name}`] } as const;
    failed.push(...((await read(name, listServed(api, resource, parse, signal))) ?? []).flat());
  }
  return failed;
}

/**
 * An empty selector selects all pods (policy/v1) and all pools, unlike that of the nodes of a pool. An invalid one of a
 * source fails for all pools.
 */
function selects(selector: unknown, labels: Labels): boolean {
  return findInvalidRequirement(selector) !== undefined || matchesNodeSelector(selector, labels);
}

async function readStoppedOperators(
  api: KubeApi,
  deployments: readonly string[],
  now: Date,
  read: Read,
  signal: AbortSignal,
): Promise<readonly StoppedOperator[]> {
  const stopped: StoppedOperator[] = [];
  for (const deployment of deployments) {
    const path = deploymentPath(OPERATOR_NAMESPACE, deployment);
    const object = await read('deployments', readObject<ApiObject>(api, path, 'get', signal));
    const isScaledToZero = readFields(object?.spec)['replicas'] === 0;
    const outageSince = findCondition(object, 'Available', 'False')?.since;
    const outage = isOutage(outageSince, now) ? `has had no available replica since ${toSeconds(outageSince)}` : '';
    const state = isScaledToZero ? 'has 0 replicas' : outage;
    if (state !== '') stopped.push({ deployment, state, isScaledToZero });
  }
  const path = objectPath(leasesPath(OPERATOR_NAMESPACE), CONTROLLER);
  const lease = await read('leases', readObject<ApiObject>(api, path, 'get', signal));
  const renewedAt = parseTime(readFields(lease?.spec)['renewTime']);
  if (isOutage(renewedAt, now) && stopped.length === 0) {
    const state = `has not renewed its Lease since ${toSeconds(renewedAt)}`;
    stopped.push({ deployment: CONTROLLER, state, isScaledToZero: false });
  }
  return stopped;
}

function readFields(value: unknown): Fields {
  return (value ?? {}) as Fields;
}

function isOutage(since: Date | undefined, now: Date): since is Date {
  return since !== undefined && now.getTime() - since.getTime() > MAX_OUTAGE_MS;
}

/** What blocks the drains of nodes, by their names. Without a right, nothing is known. */
async function readDrainObstacles(
  api: KubeApi,
  nodes: readonly string[],
  now: Date,
  read: Read,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DrainObstacles>> {
  const byNode = new Map<string, DrainObstacles>();
  if (nodes.length === 0) return byNode;
  const budgets = await read('poddisruptionbudgets', listAll(api, BUDGETS, parseBudget, signal));
  if (budgets === undefined) return byNode;
  const budgetsByNamespace = groupBy(budgets, ({ namespace }) => namespace);
  for (const node of nodes) {
    const query = { fieldSelector: `spec.nodeName=${node}` };
    const pods = await read('pods', listAll(api, PODS, parsePod, signal, query));
    if (pods === undefined) return byNode;
    const evicted = pods.filter(({ isEvicted }) => isEvicted);
    const ending = evicted.filter(({ deletedAt }) => deletedAt !== undefined);
    const late = ending.filter(({ deletedAt }) => isOutage(deletedAt, now));
    const endingPods = (late.length > 0 ? late : ending).map(formatKey);
    const graceEnd = late.length > 0 ? undefined : findLatest(ending.map(({ deletedAt }) => deletedAt));
    const blocking = findBlocking(evicted, budgetsByNamespace);
    const selecting = evicted.flatMap((pod) => findSelecting(pod, budgetsByNamespace));
    const freedAt = evicted.length === 0 ? now : findLatest(selecting.map(({ allowedSince }) => allowedSince));
    // The operator tries again within 5 minutes (drain_controller.go).
    const isFree = blocking.length + late.length === 0 && freedAt !== undefined && !isOutage(freedAt, now);
    byNode.set(node, { budgets: blocking, endingPods, graceEnd, isFree });
  }
  return byNode;
}

function findSelecting({ namespace, labels }: Pod, budgets: ReadonlyMap<string, readonly Budget[]>) {
  return (budgets.get(namespace) ?? []).filter(({ selector }) => selects(selector, labels));
}

/** The budgets for which the API server rejects an eviction (kubernetes, pkg/registry/core/pod/storage/eviction.go). */
function findBlocking(pods: readonly Pod[], budgets: ReadonlyMap<string, readonly Budget[]>): BlockingBudget[] {
  const blocked = pods
    .filter(({ isGuarded }) => isGuarded)
    .flatMap((pod) => {
      const [budget, ...others] = findSelecting(pod, budgets);
      const isBlocked = budget?.allowsNone === true && (pod.isReady || !budget.allowsUnready);
      return budget !== undefined && (isBlocked || others.length > 0) ? [{ budget, others, pod }] : [];
    });
  const groups = groupBy(blocked, ({ budget, others }) => [budget, ...others].map(formatKey).join(' '));
  return [...groups.values()].map((group) => {
    const [{ budget, others }] = group as [(typeof group)[number]];
    const { namespace, name, isTemporary, isUncounted } = budget;
    const isOfMachine = group.every(({ pod }) => pod.isOfMachine);
    return {
      namespace,
      name,
      others: others.map((other) => other.name),
      isTemporary: (isTemporary || isOfMachine) && others.length === 0,
      isOfMachine,
      isUncounted,
      pods: group.map(({ pod }) => pod.name),
    };
  });
}

function formatKey({ namespace, name }: Pick<Budget, 'name' | 'namespace'>): string {
  return `${namespace}/${name}`;
}

function parseBudget({ metadata, spec, status }: ApiObject) {
  const { disruptionsAllowed, expectedPods, currentHealthy, desiredHealthy } = readFields(status);
  const { selector, unhealthyPodEvictionPolicy } = readFields(spec);
  const isHealthy = Number(currentHealthy) >= Number(desiredHealthy) && Number(desiredHealthy) > 0;
  return {
    namespace: String(metadata?.namespace),
    name: String(metadata?.name),
    selector,
    allowsNone: disruptionsAllowed === 0,
    allowedSince: findCondition({ status }, 'DisruptionAllowed', 'True')?.since,
    /** Whether it allows the eviction of pods that are not ready. */
    allowsUnready: isHealthy || unhealthyPodEvictionPolicy === 'AlwaysAllow',
    isTemporary: Number(expectedPods) > Number(desiredHealthy),
    isUncounted: expectedPods === 0,
  };
}

/** A drain evicts neither the pods of DaemonSets nor static pods nor those that have ended (kubectl, pkg/drain). */
function parsePod({ metadata, status }: ApiObject) {
  const owners = Array.isArray(metadata?.ownerReferences) ? (metadata.ownerReferences as readonly Fields[]) : [];
  const isOf = (kind: string) => owners.some((owner) => owner['kind'] === kind);
  const isStatic = metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined;
  const { phase } = readFields(status);
  const hasEnded = phase === 'Succeeded' || phase === 'Failed';
  const deletedAt = parseTime(metadata?.deletionTimestamp);
  return {
    namespace: String(metadata?.namespace),
    name: String(metadata?.name),
    labels: metadata?.labels ?? {},
    /** The end of its grace period. Undefined before its eviction. */
    deletedAt,
    isEvicted: !isOf('DaemonSet') && !isStatic && !hasEnded,
    isOfMachine: isOf('VirtualMachineInstance'),
    /** Whether its eviction needs a budget that allows it. */
    isGuarded: phase !== 'Pending' && deletedAt === undefined,
    isReady: findCondition({ status }, 'Ready', 'True') !== undefined,
  };
}
