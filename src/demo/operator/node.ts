import type { ApiObject } from '../../kube/api-object.ts';
import { MCO_GROUP } from '../../kube/api-paths.ts';

/** The annotations of the Machine Config Operator on a node (machine-config-operator, pkg/daemon/constants). */
export interface NodeAnnotations {
  readonly currentConfig: string;
  readonly desiredConfig: string;
  readonly state: 'Done' | 'Working' | 'Rebooting' | 'Degraded';
  readonly reason: string;
  /** The daemon requests to drain or to uncordon the node for a config. */
  readonly desiredDrain: string;
  /** The last request that the machine-config-controller has completed. */
  readonly lastAppliedDrain: string;
}

export interface NodeView extends NodeAnnotations {
  readonly name: string;
  /** The condition Ready. It does not depend on configs. */
  readonly ready: boolean;
}

export const MASTER_LABEL = 'node-role.kubernetes.io/master';
const PREFIX = `${MCO_GROUP}/`;

export function parseNode({ metadata, status }: ApiObject): NodeView {
  const annotations = Object.entries(metadata?.annotations ?? {}).map(([key, value]) => [
    key.replace(PREFIX, ''),
    value,
  ]);
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly { type: string; status: string }[] };
  const ready = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return { ...(Object.fromEntries(annotations) as NodeAnnotations), name: String(metadata?.name), ready };
}

export function toAnnotations(values: Partial<NodeAnnotations>): object {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [PREFIX + key, value]));
}

/** Done and running the config that it should run (machine-config-operator, pkg/controller/node/status.go). */
export function isDone({ currentConfig, desiredConfig, state }: NodeView): boolean {
  return state === 'Done' && currentConfig === desiredConfig;
}

/** A Degraded node is also unavailable, so it uses up maxUnavailable (isNodeUnavailable in the same file). */
export function isUnavailable(node: NodeView): boolean {
  return !node.ready || !isDone(node);
}
