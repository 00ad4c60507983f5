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
  options: { readonly spec?: string | undefined; status?: string | undefined; terminating?: boolean },
): InspectedPool {
  const [spec, status] = [options.spec, options.status].map((config) => ({
    configuration: { name: config },
  }));
  const deletion = options.terminating === true ? { deletionTimestamp: '2026-11-20T00:00:00Z' } : {};
  return {
    referrer: parsePoolReferrer({ metadata: { name, ...deletion }, spec, status }),
    nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    paused: false,
    machineCount: 1,
    updatedMachineCount: 1,
    sources: [],
  };
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
