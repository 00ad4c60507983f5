import { type ConfigName, toConfigName } from '../../src/decision/config-name.ts';
import type {
  CheckScope,
  InspectedNode,
  InspectedPool,
  ClusterSnapshot,
} from '../../src/inspect/consistency.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

const MCO = 'machineconfiguration.openshift.io';

interface NodeOptions {
  readonly current?: string | undefined;
  readonly desired?: string | undefined;
  readonly role?: string;
  readonly state?: string;
}

interface PoolOptions {
  readonly spec?: string | undefined;
  readonly status?: string | undefined;
  readonly terminating?: boolean;
}

/** All nodes, at least one. */
export const EVERYTHING: CheckScope = { selector: undefined, minNodes: 1 };

/** A node of a role, with the annotations that it has reported. */
export function inspectedNode(
  name: string,
  { current, desired, role = 'worker', state = 'Done' }: NodeOptions,
): InspectedNode {
  const annotations = { [`${MCO}/currentConfig`]: current, [`${MCO}/desiredConfig`]: desired };
  return {
    referrer: parseNodeReferrer({ metadata: { name, annotations } }),
    labels: { [`node-role.kubernetes.io/${role}`]: '' },
    state,
    reason: '',
  };
}

/** A pool of the nodes that have its name as their role. */
export function inspectedPool(
  name: string,
  { spec, status, terminating = false }: PoolOptions,
): InspectedPool {
  const metadata = { name, ...(terminating ? { deletionTimestamp: '2026-11-20T00:00:00Z' } : {}) };
  return {
    referrer: parsePoolReferrer({
      metadata,
      spec: { configuration: { name: spec } },
      status: { configuration: { name: status } },
    }),
    nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    paused: false,
    machineCount: 1,
    updatedMachineCount: 1,
  };
}

/** A snapshot of a cluster with these configs. */
export function snapshot(
  nodes: InspectedNode[],
  pools: InspectedPool[],
  configs: readonly string[],
): ClusterSnapshot {
  return { nodes, pools, configs: names(configs) };
}

export function names(configs: readonly string[]): ReadonlySet<ConfigName> {
  return new Set(configs.map(toConfigName));
}
