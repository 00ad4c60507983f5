import { type ConfigName, toConfigName } from '../../../src/decision/config-name.ts';
import type { CheckScope } from '../../../src/cli/check/consistency.ts';
import type { InspectedNode, InspectedPool, ClusterSnapshot } from '../../../src/client/cluster-snapshot.ts';
import { parseInspectedPool } from '../../../src/client/cluster-reader.ts';
import { parseNodeReferrer } from '../../../src/references/parse-referrer.ts';

const MCO = 'machineconfiguration.openshift.io';

/** The time of every check. */
export const NOW = new Date('2026-11-20T12:00:00Z');

interface NodeOptions {
  readonly current?: string | undefined;
  readonly desired?: string | undefined;
  readonly role?: string;
  readonly state?: string;
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

interface PoolOptions {
  readonly spec?: string | undefined;
  readonly status?: string | undefined;
  readonly terminating?: boolean;
  /** Of one machine. */
  readonly updatedMachineCount?: number;
  readonly ageMinutes?: number;
}

/** A pool of the nodes that have its name as their role. By default it is an hour old. */
export function inspectedPool(name: string, options: PoolOptions): InspectedPool {
  const { spec, status, terminating = false, ageMinutes = 60 } = options;
  const { updatedMachineCount = status === undefined ? 0 : 1 } = options;
  const creationTimestamp = new Date(NOW.getTime() - ageMinutes * 60_000).toISOString();
  const deletion = terminating ? { deletionTimestamp: '2026-11-20T11:59:00Z' } : {};
  return parseInspectedPool({
    metadata: { name, creationTimestamp, ...deletion },
    spec: {
      configuration: { name: spec },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
    status: { configuration: { name: status }, machineCount: 1, updatedMachineCount },
  });
}

/** A snapshot of a cluster with these configs. */
export function snapshot(
  nodes: InspectedNode[],
  pools: InspectedPool[],
  configs: readonly string[],
  terminatingConfigs: readonly string[] = [],
): ClusterSnapshot {
  return { nodes, pools, configs: names(configs), terminatingConfigs: names(terminatingConfigs) };
}

export function names(configs: readonly string[]): ReadonlySet<ConfigName> {
  return new Set(configs.map(toConfigName));
}
