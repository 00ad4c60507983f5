import { isRecord } from '../cluster/kube-object.ts';
import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { type NodeView, nodes } from './node-view.ts';

/** The pool of the control plane. */
export const MASTER_POOL = 'master';

/** Counts and name as the pool's status shows them (machine-config-operator, pkg/controller/node/status.go). */
export interface PoolStatus {
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly degradedMachineCount: number;
  /** The config that every machine has. Follows the spec only once all have it; empty on a pool where that never was so. */
  readonly configuration: string;
}

/** The config that the pool's machines are to have, or an empty string while there is no pool. */
export function poolConfig(sandbox: InMemoryCluster): string {
  return configurationOf(sandbox.get('machineconfigpools', MASTER_POOL)?.['spec']);
}

/** The pool's status as it is written. */
export function poolStatus(sandbox: InMemoryCluster): PoolStatus {
  const status = sandbox.get('machineconfigpools', MASTER_POOL)?.['status'];
  const count = (field: string): number => (isRecord(status) && typeof status[field] === 'number' ? status[field] : 0);
  return {
    machineCount: count('machineCount'),
    updatedMachineCount: count('updatedMachineCount'),
    degradedMachineCount: count('degradedMachineCount'),
    configuration: configurationOf(status),
  };
}

/** Has this node what the pool wants, and is it well? */
function isUpdated({ current, desired, state, ready }: NodeView, config: string): boolean {
  return current === config && desired === config && state === 'Done' && ready;
}

/** The pool's status as it should be, going by its nodes. */
export function poolStatusFromNodes(sandbox: InMemoryCluster): PoolStatus {
  const machines = nodes(sandbox);
  const config = poolConfig(sandbox);
  const updated = machines.filter((machine) => isUpdated(machine, config)).length;
  return {
    machineCount: machines.length,
    updatedMachineCount: updated,
    degradedMachineCount: machines.filter(({ state }) => state === 'Degraded').length,
    configuration: machines.length > 0 && updated === machines.length ? config : poolStatus(sandbox).configuration,
  };
}

/** Writes a status. */
export function writePoolStatus(sandbox: InMemoryCluster, { configuration, ...counts }: PoolStatus): void {
  sandbox.patch('machineconfigpools', MASTER_POOL, {
    status: { ...counts, configuration: configuration === '' ? {} : { name: configuration } },
  });
}

function configurationOf(part: unknown): string {
  const configuration = isRecord(part) ? part['configuration'] : undefined;
  const name = isRecord(configuration) ? configuration['name'] : undefined;
  return typeof name === 'string' ? name : '';
}
