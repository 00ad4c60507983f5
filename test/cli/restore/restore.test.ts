import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { annotate, GONE, NEW, startHealthyCluster } from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

const OTHER_GONE = GONE.replace('-c', '-d');

function writeConfig(): string {
  const file = path.join(createTemporaryDirectory(), 'config.json');
  const config = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name: GONE },
    spec: { config: { ignition: { version: '3.4.0' } } },
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

test('completes the beginning of the name of a missing config', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const { stdout } = await run('restore', 'worker-c', '--from', writeConfig());
  // The content of the file cannot be restored, but its name fits.
  expect(stdout).toMatch(new RegExp(`^${GONE} \\(from .*\\)\\n  Not restored \\(NoIgnitionContent\\)`));
  expect((await run('restore', NEW, '--from', writeConfig())).stdout).toContain('(NameDiffers)');
});

test('exits with 2 if several missing configs begin with the name', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: OTHER_GONE, desiredConfig: GONE });
  expect(await run('restore', 'worker-', '--from', writeConfig())).toEqual(
    usageError(`"worker-" begins several names: ${GONE} and ${OTHER_GONE}; add more characters\n`),
  );
});

test('with --context, names it in the advice about a node that cannot be read', async () => {
  const { run } = await startHealthyCluster();
  const { stderr } = await run('restore', '--from', 'node/oc-1', '--context', 'in-memory');
  expect(stderr).toBe(
    'machineconfig-guard: node oc-1 does not exist; see: oc --context in-memory get nodes\n',
  );
});
