import { isDeepStrictEqual } from 'node:util';
import { toSeconds } from '../../common/to-seconds.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { MCO_GROUP } from '../../kube/api-paths.ts';
import { isDone, isUnavailable, MASTER_LABEL, type NodeView } from './node.ts';

export const MASTER_POOL = 'master';

/** The fields of a pool that the simulation reads. */
interface PoolFields {
  readonly metadata?: { readonly uid: string };
  readonly spec?: { readonly configuration?: { readonly name: string }; readonly paused?: boolean };
  readonly status?: {
    readonly configuration?: { readonly name: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly machineCount?: number;
    readonly updatedMachineCount?: number;
    readonly degradedMachineCount?: number;
  };
}

export type PoolView = ReturnType<typeof parsePool>;

export function parsePool(pool: ApiObject | undefined) {
  const { metadata, spec = {}, status = {} } = (pool ?? {}) as PoolFields;
  const { configuration, conditions = [], ...counts } = status;
  return {
    /** Empty before the pool exists. */
    uid: metadata?.uid ?? '',
    /** The config that the pool rolls out. Empty before the first one is rendered. */
    config: spec.configuration?.name ?? '',
    isPaused: spec.paused === true,
    /** Its config is the last one that all machines had. Empty if there was none. */
    status: { ...counts, configuration: configuration?.name ?? '' },
    /** The status of the condition Updated. */
    updated: conditions.find(({ type }) => type === 'Updated')?.status,
  };
}

export const NEW_MASTER_POOL = {
  apiVersion: `${MCO_GROUP}/v1`,
  kind: 'MachineConfigPool',
  metadata: { name: MASTER_POOL },
  spec: {
    nodeSelector: { matchLabels: { [MASTER_LABEL]: '' } },
    maxUnavailable: 1,
    paused: false,
  },
};

/** The config that a pool names, and a source, which the simulation does not have. */
export function buildConfiguration(name: string): object {
  const source = { apiVersion: `${MCO_GROUP}/v1`, kind: 'MachineConfig', name: `00-${MASTER_POOL}` };
  return { name, source: [source] };
}

/**
 * A merge patch of the status with what changes, so that a config that somebody else writes at the same time survives
 * (machine-config-operator, pkg/controller/node/status.go). The status keeps its config until every machine runs the
 * config of the spec.
 *
 * @returns undefined if nothing changes
 */
export function planStatus({ config, status, updated }: PoolView, nodes: readonly NodeView[]): object | undefined {
  const updatedNodes = nodes.filter((node) => isDone(node) && node.currentConfig === config);
  const counts = {
    machineCount: nodes.length,
    updatedMachineCount: updatedNodes.length,
    readyMachineCount: updatedNodes.filter(({ ready }) => ready).length,
    unavailableMachineCount: nodes.filter(isUnavailable).length,
    degradedMachineCount: nodes.filter(({ state }) => state === 'Degraded').length,
  };
  const isUpdated = counts.readyMachineCount === nodes.length;
  const condition = { type: 'Updated', status: isUpdated ? 'True' : 'False', reason: '', message: '' };
  const lastTransitionTime = toSeconds(new Date());
  const patch = {
    ...(isDeepStrictEqual({ ...status, ...counts }, status) ? {} : counts),
    ...(isUpdated && config !== status.configuration ? { configuration: buildConfiguration(config) } : {}),
    ...(condition.status === updated ? {} : { conditions: [{ ...condition, lastTransitionTime }] }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}
