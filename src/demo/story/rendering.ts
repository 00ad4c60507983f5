import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { MASTER_POOL } from './pool.ts';
import type { Story } from './story.ts';
import { TIMING } from './timing.ts';

/** Real names end in 32 hexadecimal digits. */
export const FIRST_CONFIG = 'rendered-master-aaa111';
const SECOND_CONFIG = 'rendered-master-bbb222';

export async function renderAtBootstrap(story: Story): Promise<void> {
  const { cluster, clock } = story;
  await clock.sleepUntil(TIMING.bootstrapRendersAt);
  cluster.create('machineconfigpools', { metadata: { name: MASTER_POOL }, spec: { maxUnavailable: 1 } });
  render(cluster, FIRST_CONFIG);
  story.record('bootstrap', `renders ${FIRST_CONFIG} for pool ${MASTER_POOL}`);
}

export async function renderAgain(story: Story): Promise<void> {
  const { cluster, clock } = story;
  await clock.sleepUntil(TIMING.newMachineConfigAt);
  render(cluster, SECOND_CONFIG);
  story.record('operator', `new MachineConfig: pool ${MASTER_POOL} -> ${SECOND_CONFIG}`);
}

/** As in the operator, the pool owns the config. */
function render(cluster: InMemoryCluster, name: string): void {
  const pool = cluster.get('machineconfigpools', MASTER_POOL);
  const owner = { apiVersion: pool?.apiVersion, kind: pool?.kind, name: MASTER_POOL, uid: pool?.metadata.uid };
  cluster.create('machineconfigs', {
    metadata: { name, ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] },
    spec: { config: { ignition: { version: '3.4.0' } } },
  });
  cluster.patch('machineconfigpools', MASTER_POOL, { spec: { configuration: { name } } });
}
