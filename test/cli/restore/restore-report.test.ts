import path from 'node:path';
import { expect, test } from 'vitest';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { annotate, startHealthyCluster } from '../inspected-cluster.ts';
import { createTemporaryDirectory, writeFiles } from '../temporary-directory.ts';

test.each([
  [20, ''],
  [21, '  and 1 more (--output json)\n'],
])('prints 20 of %i differences from the config of the pool', async (count, more) => {
  const { run, cluster } = await startHealthyCluster();
  const kernelArguments = Array.from({ length: count }, (_, index) => `argument${index}`);
  const { name, text } = createConfigOnDisk('worker', { kernelArguments, kernelType: 'default' });
  annotate(cluster, 'worker-0', { currentConfig: name, desiredConfig: name });
  const directory = createTemporaryDirectory();
  writeFiles(directory, { 'config.json': text });
  const spec = { ...(JSON.parse(text) as { spec: object }).spec, kernelArguments: [] };
  cluster.patch('machineconfigs', 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796', { spec });
  const { stdout } = await run('restore', name, '--from', path.join(directory, 'config.json'));
  expect(stdout.match(/^ +kernel argument +argument\d+ /gm)).toHaveLength(20);
  expect(stdout.match(/^ +and .* more.*\n/m)?.[0] ?? '').toBe(more);
});
