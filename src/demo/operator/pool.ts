import type { ApiObject } from '../../kube/api-object.ts';
import { MCO_GROUP } from '../../kube/api-paths.ts';
import { isDone, isUnavailable, MASTER_LABEL, type NodeView } from './nodes.ts';

export const MASTER_POOL = 'master';

/** The status of the pool (machine-config-operator, pkg/controller/node/status.go). */
export interface PoolStatus {
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly readyMachineCount: number;
  readonly unavailableMachineCount: number;
  readonly degradedMachineCount: number;
  /** The last config that all machines had. Empty if there was none. */
  readonly configuration: string;
}

export interface PoolView {
  readonly uid: string;
  /** The config that the pool rolls out. Empty before the first one is rendered. */
  readonly config: string;
  readonly isPaused: boolean;
  readonly maxUnavailable: number;
  readonly status: PoolStatus;
  /** The condition Updated. Undefined before the operator writes it. */
  readonly isUpdated: boolean | undefined;
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

interface Part {
  readonly configuration?: { readonly name?: string };
}

const NO_MACHINES = {
  machineCount: 0,
  updatedMachineCount: 0,
  readyMachineCount: 0,
  unavailableMachineCount: 0,
  degradedMachineCount: 0,
};

export function parsePool(pool: ApiObject | undefined): PoolView {
  const spec = (pool?.spec ?? {}) as Part & { readonly paused?: boolean; readonly maxUnavailable?: number };
  const status = (pool?.status ?? {}) as Part &
    Partial<typeof NO_MACHINES> & { readonly conditions?: readonly Condition[] };
  const counts = Object.keys(NO_MACHINES) as (keyof typeof NO_MACHINES)[];
  const updated = status.conditions?.find(({ type }) => type === 'Updated');
  return {
    uid: String(pool?.metadata?.uid),
    config: spec.configuration?.name ?? '',
    isPaused: spec.paused === true,
    maxUnavailable: spec.maxUnavailable ?? 1,
    status: {
      ...NO_MACHINES,
      ...Object.fromEntries(counts.map((key) => [key, status[key] ?? 0])),
      configuration: status.configuration?.name ?? '',
    },
    isUpdated: updated && updated.status === 'True',
  };
}

export function buildMasterPool(): object {
  return {
    apiVersion: `${MCO_GROUP}/v1`,
    kind: 'MachineConfigPool',
    metadata: { name: MASTER_POOL },
    spec: {
      machineConfigSelector: { matchLabels: { [`${MCO_GROUP}/role`]: MASTER_POOL } },
      nodeSelector: { matchLabels: { [MASTER_LABEL]: '' } },
      maxUnavailable: 1,
      paused: false,
    },
  };
}

/** The config that a pool names, and a source, which the simulation does not have. */
export function buildConfiguration(name: string): object {
  const source = { apiVersion: `${MCO_GROUP}/v1`, kind: 'MachineConfig', name: `00-${MASTER_POOL}` };
  return { name, source: [source] };
}

/** A merge patch to another status. A config that somebody else writes at the same time survives. */
export function buildStatusPatch({ status, isUpdated }: PoolView, next: PoolStatus): object {
  const { configuration, ...counts } = next;
  const isNextUpdated = areAllUpdated(next);
  const condition = {
    type: 'Updated',
    status: isNextUpdated ? 'True' : 'False',
    lastTransitionTime: `${new Date().toISOString().slice(0, -5)}Z`,
    reason: '',
    message: '',
  };
  return {
    ...counts,
    ...(configuration === status.configuration ? {} : { configuration: buildConfiguration(configuration) }),
    ...(isNextUpdated === isUpdated ? {} : { conditions: [condition] }),
  };
}

/** The condition Updated. */
export function areAllUpdated(status: Omit<PoolStatus, 'configuration'>): boolean {
  return status.readyMachineCount === status.machineCount && status.unavailableMachineCount === 0;
}

/** The status keeps its config until every machine runs the config of the spec. */
export function computePoolStatus(pool: PoolView, nodes: readonly NodeView[]): PoolStatus {
  const updated = nodes.filter((node) => isDone(node) && node.current === pool.config);
  const ready = updated.filter((node) => node.ready);
  const unavailable = nodes.filter(isUnavailable);
  const counts = {
    machineCount: nodes.length,
    updatedMachineCount: updated.length,
    readyMachineCount: ready.length,
    unavailableMachineCount: unavailable.length,
    degradedMachineCount: nodes.filter(({ state }) => state === 'Degraded').length,
  };
  const configuration = areAllUpdated(counts) ? pool.config : pool.status.configuration;
  return { ...counts, configuration };
}
