import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { isRecord, type KubeObject } from '../cluster/kube-object.ts';

const MCO = 'machineconfiguration.openshift.io';

/** Values of the annotation `machineconfiguration.openshift.io/state` that the story needs (machine-config-operator, pkg/daemon/constants). */
export type NodeState = 'Done' | 'Working' | 'Rebooting' | 'Degraded';

/** A node as the Machine Config Operator sees it. */
export interface NodeView {
  readonly name: string;
  readonly current: string;
  readonly desired: string;
  readonly state: NodeState;
  readonly reason: string;
  /** Ready in the Kubernetes sense, which says nothing about configs. */
  readonly ready: boolean;
}

/** What an actor changes about a node. */
export type NodeChange = Partial<Omit<NodeView, 'name'>>;

/** All nodes in the order of their names. */
export function nodes(sandbox: InMemoryCluster): NodeView[] {
  return sandbox.list('nodes').map(viewOf);
}

/** One node. Throws where there is none. */
export function node(sandbox: InMemoryCluster, name: string): NodeView {
  const object = sandbox.get('nodes', name);
  if (object === undefined) throw new Error(`the story has no node ${name}`);
  return viewOf(object);
}

/** A master joins, with the config that it was given when it was installed. */
export function joinMaster(sandbox: InMemoryCluster, name: string, config: string): void {
  const view = { current: config, desired: config, state: 'Done', reason: '', ready: true } as const;
  sandbox.create('nodes', {
    metadata: {
      name,
      labels: { 'node-role.kubernetes.io/master': '', 'node-role.kubernetes.io/control-plane': '' },
      annotations: annotationsOf(view),
    },
    status: readiness(true),
  });
}

/** Changes what is given, and nothing else. */
export function changeNode(sandbox: InMemoryCluster, name: string, change: NodeChange): void {
  sandbox.patch('nodes', name, {
    metadata: { annotations: annotationsOf(change) },
    ...(change.ready === undefined ? {} : { status: readiness(change.ready) }),
  });
}

function viewOf({ metadata, status }: KubeObject): NodeView {
  const annotation = (key: string): string => metadata.annotations?.[`${MCO}/${key}`] ?? '';
  const conditions = isRecord(status) && Array.isArray(status['conditions']) ? (status['conditions'] as unknown[]) : [];
  return {
    name: metadata.name,
    current: annotation('currentConfig'),
    desired: annotation('desiredConfig'),
    state: annotation('state') as NodeState,
    reason: annotation('reason'),
    ready: conditions.some((condition) => isRecord(condition) && condition['status'] === 'True'),
  };
}

function annotationsOf({ current, desired, state, reason }: NodeChange): Record<string, string> {
  const values = { currentConfig: current, desiredConfig: desired, state, reason };
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[`${MCO}/${key}`, value]])),
  );
}

function readiness(ready: boolean): Record<string, unknown> {
  return { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] };
}
