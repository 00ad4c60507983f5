import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { listNodes } from './nodes.ts';

export const MASTER_POOL = 'master';

/** The status of the pool (machine-config-operator, pkg/controller/node/status.go). */
export interface PoolStatus {
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly degradedMachineCount: number;
  /** The last config that all machines had. Empty if there was none. */
  readonly configuration: string;
}

interface PoolPart {
  readonly configuration?: { readonly name?: string };
}

/** Empty before the pool exists. */
export function getPoolConfig(cluster: InMemoryCluster): string {
  const spec = cluster.get('machineconfigpools', MASTER_POOL)?.['spec'] as PoolPart | undefined;
  return spec?.configuration?.name ?? '';
}

export function getPoolStatus(cluster: InMemoryCluster): PoolStatus {
  const status = cluster.get('machineconfigpools', MASTER_POOL)?.['status'] as PoolPart | undefined;
  const { configuration, ...counts } = status ?? {};
  const noMachines = { machineCount: 0, updatedMachineCount: 0, degradedMachineCount: 0 };
  return { ...noMachines, ...counts, configuration: configuration?.name ?? '' };
}

export function computePoolStatus(cluster: InMemoryCluster): PoolStatus {
  const nodes = listNodes(cluster);
  const config = getPoolConfig(cluster);
  const updated = nodes.filter(
    ({ current, desired, state, ready }) =>
      current === config && desired === config && state === 'Done' && ready,
  );
  return {
    machineCount: nodes.length,
    updatedMachineCount: updated.length,
    degradedMachineCount: nodes.filter(({ state }) => state === 'Degraded').length,
    configuration:
      nodes.length > 0 && updated.length === nodes.length ? config : getPoolStatus(cluster).configuration,
  };
}

export function writePoolStatus(cluster: InMemoryCluster, { configuration, ...counts }: PoolStatus): void {
  cluster.patch('machineconfigpools', MASTER_POOL, {
    status: { ...counts, configuration: configuration === '' ? {} : { name: configuration } },
  });
}
