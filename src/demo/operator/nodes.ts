import type { ApiObject } from '../../kube/api-object.ts';
import { MCO_GROUP } from '../../kube/api-paths.ts';

/** Values of the annotation `state` (machine-config-operator, pkg/daemon/constants). */
export type NodeState = 'Done' | 'Working' | 'Rebooting' | 'Degraded';

export interface NodeView {
  readonly name: string;
  readonly current: string;
  readonly desired: string;
  readonly state: NodeState;
  readonly reason: string;
  /** The condition Ready. It does not depend on configs. */
  readonly ready: boolean;
}

/** A change of a node. Requests to drain it or to uncordon it name a config. */
export interface NodeChange extends Partial<NodeView> {
  /** Of the machine-config-daemon. */
  readonly desiredDrain?: string;
  /** Of the machine-config-controller, when it has done what the daemon requested. */
  readonly lastAppliedDrain?: string;
}

export const MASTER_LABEL = 'node-role.kubernetes.io/master';

export function parseNode({ metadata, status }: ApiObject): NodeView {
  const annotations = (metadata?.annotations ?? {}) as Readonly<Record<string, string>>;
  const readAnnotation = (key: string): string => annotations[`${MCO_GROUP}/${key}`] ?? '';
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return {
    name: String(metadata?.name),
    current: readAnnotation('currentConfig'),
    desired: readAnnotation('desiredConfig'),
    state: readAnnotation('state') as NodeState,
    reason: readAnnotation('reason'),
    ready: conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  };
}

export function buildMaster(name: string): object {
  const labels = { [MASTER_LABEL]: '', 'node-role.kubernetes.io/control-plane': '' };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
}

/** A merge patch of a node. */
export function buildNodePatch({ current, desired, ready, ...change }: NodeChange): {
  readonly metadata?: object;
  readonly status?: object;
} {
  const { state, reason, desiredDrain, lastAppliedDrain } = change;
  const configs = { currentConfig: current, desiredConfig: desired };
  const values = { ...configs, state, reason, desiredDrain, lastAppliedDrain };
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  const annotations = Object.fromEntries(present.map(([key, value]) => [`${MCO_GROUP}/${key}`, value]));
  const conditions = [{ type: 'Ready', status: ready === true ? 'True' : 'False' }];
  return {
    ...(present.length === 0 ? {} : { metadata: { annotations } }),
    ...(ready === undefined ? {} : { status: { conditions } }),
  };
}

/** Done and running the config that it should run (machine-config-operator, pkg/controller/node/status.go). */
export function isDone({ current, desired, state }: NodeView): boolean {
  return state === 'Done' && current === desired;
}

/**
 * A Degraded node with `current == desired` counts as unavailable, not as failing, so it uses up
 * maxUnavailable (machine-config-operator, pkg/controller/node/status.go, isNodeUnavailable).
 */
export function isUnavailable(node: NodeView): boolean {
  return !node.ready || (!isDone(node) && !isFailing(node));
}

export function isFailing({ current, desired, state }: NodeView): boolean {
  return state === 'Degraded' && current !== desired;
}
