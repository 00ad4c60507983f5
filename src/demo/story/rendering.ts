import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { MASTER_POOL, poolConfig } from './pool-view.ts';
import type { Scene } from './scene.ts';
import { TIMING } from './timing.ts';

/** The two rendered configs of the incident. Real names end in 32 hexadecimal digits. */
export const FIRST_CONFIG = 'rendered-master-aaa111';
/** The one that the pool points to from T+5m on. */
const SECOND_CONFIG = 'rendered-master-bbb222';

/** The bootstrap renders the first config and makes the pool. */
export async function bootstrapRendering(scene: Scene): Promise<void> {
  const { clock, sandbox } = scene;
  await clock.at(TIMING.bootstrapRendersAt);
  sandbox.create('machineconfigpools', { metadata: { name: MASTER_POOL }, spec: { maxUnavailable: 1 } });
  render(sandbox, FIRST_CONFIG);
  scene.say('bootstrap', `renders ${FIRST_CONFIG} for pool ${MASTER_POOL}`);
}

/** Another MachineConfig arrives: the operator renders again and points the pool to the result. */
export async function rendering(scene: Scene): Promise<void> {
  const { clock, sandbox } = scene;
  await clock.at(TIMING.newMachineConfigAt);
  render(sandbox, SECOND_CONFIG);
  scene.say('operator', `another MachineConfig: pool ${MASTER_POOL} -> ${SECOND_CONFIG}`);
}

/** Makes a rendered config as the render controller does: owned by its pool, without labels and finalizers. */
function render(sandbox: InMemoryCluster, name: string): void {
  const pool = sandbox.get('machineconfigpools', MASTER_POOL);
  sandbox.create('machineconfigs', {
    metadata: {
      name,
      annotations: { 'machineconfiguration.openshift.io/generated-by-controller-version': 'demo' },
      ownerReferences: [
        {
          apiVersion: 'machineconfiguration.openshift.io/v1',
          kind: 'MachineConfigPool',
          name: MASTER_POOL,
          uid: pool?.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { config: { ignition: { version: '3.4.0' } } },
  });
  if (poolConfig(sandbox) !== name) {
    sandbox.patch('machineconfigpools', MASTER_POOL, { spec: { configuration: { name } } });
  }
}
