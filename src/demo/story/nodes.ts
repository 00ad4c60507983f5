import { MCO_GROUP } from '../../kube/api-paths.ts';
import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import type { KubeObject } from '../cluster/kube-object.ts';

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

export function listNodes(cluster: InMemoryCluster): NodeView[] {
  return cluster.list('nodes').map(toView);
}

/** @throws Error if the node does not exist */
export function getNode(cluster: InMemoryCluster, name: string): NodeView {
  const node = listNodes(cluster).find((candidate) => candidate.name === name);
  if (node === undefined) throw new Error(`the story has no node ${name}`);
  return node;
}

export function createMaster(cluster: InMemoryCluster, name: string, config: string): void {
  const labels = { 'node-role.kubernetes.io/master': '', 'node-role.kubernetes.io/control-plane': '' };
  cluster.create('nodes', { metadata: { name, labels } });
  patchNode(cluster, name, { current: config, desired: config, state: 'Done', reason: '', ready: true });
}

export function patchNode(cluster: InMemoryCluster, name: string, change: Partial<NodeView>): void {
  const { current, desired, state, reason, ready } = change;
  const values = { currentConfig: current, desiredConfig: desired, state, reason };
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  const annotations = Object.fromEntries(present.map(([key, value]) => [`${MCO_GROUP}/${key}`, value]));
  cluster.patch('nodes', name, {
    metadata: { annotations },
    ...(ready === undefined
      ? {}
      : { status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] } }),
  });
}

function toView({ metadata, status }: KubeObject): NodeView {
  const readAnnotation = (key: string): string => metadata.annotations?.[`${MCO_GROUP}/${key}`] ?? '';
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly status: string }[];
  };
  return {
    name: metadata.name,
    current: readAnnotation('currentConfig'),
    desired: readAnnotation('desiredConfig'),
    state: readAnnotation('state') as NodeState,
    reason: readAnnotation('reason'),
    ready: conditions[0]?.status === 'True',
  };
}
