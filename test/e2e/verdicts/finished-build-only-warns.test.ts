import { expect, test } from 'vitest';

import { deleted, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test.for(['Succeeded', 'Failed', 'Interrupted'] as const)(
  'a config that only a build with condition %s names is deleted, with a warning',
  async (condition) => {
    const config = await cluster.config();
    const build = await cluster.build(config, condition);

    const response = await cluster.delete(config);

    const mentions = [{ kind: 'MachineOSBuild', name: build, field: 'machineConfig' }];
    expect(await cluster.outcome(config, response)).toEqual(deleted(config, mentions));
    expect(response.warnings).toHaveLength(1);
    expect(response.warnings[0]).toContain(`build ${build}`);
    expect(response.warnings[0]?.length).toBeLessThanOrEqual(120);
  },
);
