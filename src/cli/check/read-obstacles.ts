import { toSeconds } from '../../common/duration.ts';
import { groupBy } from '../../common/group-by.ts';
import { orForbidden, readObject } from '../../client/cluster-access.ts';
import { listAll } from '../../client/cluster-reader.ts';
import { parseConditions } from '../../client/inspected-objects.ts';
import type {
  BlockingBudget,
  ClusterSnapshot,
  InspectedNode,
  StoppedOperator,
} from '../../diagnosis/cluster-snapshot.ts';
import { type ApiObject, parseTime } from '../../kube/api-object.ts';
import { deploymentPath, leasesPath, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { matchesNodeSelector } from '../../mco/pool-of-node.ts';

// What can hold the operator back, apart from nodes and pools. `check` reads it only once something does not move.

const OPERATOR_NAMESPACE = 'openshift-machine-config-operator';
const CONTROLLER = 'machine-config-controller';
const DEPLOYMENTS = ['machine-config-operator', CONTROLLER];
/** A Lease is renewed every 26 s, and a Deployment is available again within minutes after a reboot. */
const MAX_OUTAGE_MS = 10 * 60_000;
const MAX_DRAINS = 5;

const BUDGETS = {
  kind: 'PodDisruptionBudget',
  paths: ['/apis/policy/v1/poddisruptionbudgets'],
  isNamespaced: true,
} as const;
const PODS = { kind: 'Pod', paths: ['/api/v1/pods'], isNamespaced: true } as const;
const BUDGETS_NAME = 'poddisruptionbudgets';
const PODS_NAME = 'pods';

type Fields = Readonly<Record<string, unknown>>;
type Obstacles = Pick<ClusterSnapshot, 'stoppedOperators' | 'blockingBudgets'> & {
  readonly unreadable: readonly string[];
};

/**
 * Reads which parts of the operator do not run, and which PodDisruptionBudgets block the drains of nodes.
 * @throws ClusterAccessError, except for a missing right; or the signal's reason
 */
export async function readObstacles(
  api: KubeApi,
  { nodes }: Pick<ClusterSnapshot, 'nodes'>,
  now: Date,
  signal: AbortSignal,
): Promise<Obstacles> {
  const unreadable: string[] = [];
  const stoppedOperators = await readStoppedOperators(api, now, unreadable, signal);
  const draining = nodes.filter(
    ({ drain, daemonReason }) => drain !== undefined || daemonReason.type === 'drainFailed',
  );
  if (draining.length === 0) return { stoppedOperators, unreadable };
  const blockingBudgets = await readBlockingBudgets(api, draining.slice(0, MAX_DRAINS), unreadable, signal);
  return { stoppedOperators, unreadable, ...(blockingBudgets && { blockingBudgets }) };
}

async function readStoppedOperators(
  api: KubeApi,
  now: Date,
  unreadable: string[],
  signal: AbortSignal,
): Promise<readonly StoppedOperator[]> {
  const stopped: StoppedOperator[] = [];
  for (const deployment of DEPLOYMENTS) {
    const path = deploymentPath(OPERATOR_NAMESPACE, deployment);
    const object = await readPart(api, path, 'deployments', unreadable, signal);
    const evidence = object && describeStoppedDeployment(object, now);
    if (evidence !== undefined) stopped.push({ deployment, ...evidence });
  }
  const lease = await readPart(
    api,
    objectPath(leasesPath(OPERATOR_NAMESPACE), CONTROLLER),
    'leases',
    unreadable,
    signal,
  );
  const renewedAt = parseTime(((lease?.spec ?? {}) as Fields)['renewTime']);
  if (isOutage(renewedAt, now) && stopped.length === 0) {
    const evidence = `has not renewed its Lease since ${toSeconds(renewedAt)}`;
    stopped.push({ deployment: CONTROLLER, evidence, isScaledToZero: false });
  }
  return stopped;
}

/** @returns undefined if it does not exist, or if the user may not read it */
async function readPart(
  api: KubeApi,
  path: string,
  resource: string,
  unreadable: string[],
  signal: AbortSignal,
): Promise<ApiObject | undefined> {
  const object = await orForbidden(readObject(api, path, 'get', signal).then((found) => found ?? {}));
  if (object === undefined && !unreadable.includes(resource)) unreadable.push(resource);
  return object;
}

function isOutage(since: Date | undefined, now: Date): since is Date {
  return since !== undefined && now.getTime() - since.getTime() > MAX_OUTAGE_MS;
}

function describeStoppedDeployment(object: ApiObject, now: Date): Omit<StoppedOperator, 'deployment'> | undefined {
  // An absent object has no spec.
  if (object.spec === undefined) return undefined;
  if ((object.spec as Fields)['replicas'] === 0) return { evidence: 'has 0 replicas', isScaledToZero: true };
  const available = parseConditions(object).find(({ type }) => type === 'Available');
  if (available?.status !== 'False' || !isOutage(available.since, now)) return undefined;
  return { evidence: `has had no available replica since ${toSeconds(available.since)}`, isScaledToZero: false };
}

interface Budget {
  readonly namespace: string;
  readonly name: string;
  readonly selector: unknown;
  readonly isBlocking: boolean;
}

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly isEvicted: boolean;
}

/** @returns undefined if the user may not list budgets or pods */
async function readBlockingBudgets(
  api: KubeApi,
  nodes: readonly InspectedNode[],
  unreadable: string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly BlockingBudget[]> | undefined> {
  const budgets = await orForbidden(listAll(api, BUDGETS, parseBudget, signal));
  if (budgets === undefined) {
    unreadable.push(BUDGETS_NAME);
    return undefined;
  }
  const blocking = groupBy(
    budgets.filter(({ isBlocking }) => isBlocking),
    ({ namespace }) => namespace,
  );
  const byNode = new Map<string, readonly BlockingBudget[]>();
  for (const { referrer } of nodes) {
    const query = { fieldSelector: `spec.nodeName=${referrer.name}` };
    const pods = await orForbidden(listAll(api, PODS, parsePod, signal, query));
    if (pods === undefined) {
      unreadable.push(PODS_NAME);
      return undefined;
    }
    byNode.set(referrer.name, findBlocking(pods, blocking));
  }
  return byNode;
}

function findBlocking(
  pods: readonly Pod[],
  budgetsByNamespace: ReadonlyMap<string, readonly Budget[]>,
): readonly BlockingBudget[] {
  const matches = pods
    .filter(({ isEvicted }) => isEvicted)
    .flatMap((pod) => {
      const own = budgetsByNamespace.get(pod.namespace) ?? [];
      return own.filter((budget) => selects(budget, pod)).map((budget) => ({ budget, pod }));
    });
  return [...groupBy(matches, ({ budget }) => budget)].map(([{ namespace, name }, group]) => {
    return { namespace, name, pods: group.map(({ pod }) => pod.name) };
  });
}

/** An empty selector selects all pods (policy/v1), unlike that of a pool. */
function selects({ selector }: Budget, { labels }: Pod): boolean {
  const isEmpty = typeof selector === 'object' && selector !== null && Object.keys(selector).length === 0;
  return isEmpty || matchesNodeSelector(selector, labels);
}

function parseBudget({ metadata, spec, status }: ApiObject): Budget {
  const { disruptionsAllowed, expectedPods } = (status ?? {}) as Fields;
  return {
    namespace: String(metadata?.namespace),
    name: String(metadata?.name),
    selector: ((spec ?? {}) as Fields)['selector'],
    isBlocking: disruptionsAllowed === 0 && expectedPods !== 0,
  };
}

/** A drain evicts neither the pods of DaemonSets nor static pods nor those that have ended (kubectl, pkg/drain). */
function parsePod({ metadata, status }: ApiObject): Pod {
  const owners = Array.isArray(metadata?.ownerReferences) ? (metadata.ownerReferences as readonly Fields[]) : [];
  const isOfDaemonSet = owners.some((owner) => owner['kind'] === 'DaemonSet');
  const isStatic = metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined;
  const hasEnded = ['Succeeded', 'Failed'].includes(String(((status ?? {}) as Fields)['phase']));
  return {
    namespace: String(metadata?.namespace),
    name: String(metadata?.name),
    labels: metadata?.labels ?? {},
    isEvicted: !isOfDaemonSet && !isStatic && !hasEnded,
  };
}
