import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test('a config that only an unfinished MachineOSBuild names is not deleted, and the answer says which build', async () => {
  const config = await cluster.config();
  const build = await cluster.build(config, 'Building');

  const response = await cluster.delete(config);

  const referrers = [{ kind: 'MachineOSBuild', name: build, field: 'machineConfig' }];
  expect(await cluster.outcome(config, response)).toEqual(refusedInUse(config, referrers));
  expect(statusOf(response).message).toContain(`is in use by build ${build} (machineConfig).`);
});
