import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
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

test('names the cluster in the advice about a node that cannot be read', async () => {
  const { run, kubeconfig } = await startHealthyCluster();
  const { stderr } = await run('restore', '--from', 'node/oc-1', '--context', 'in-memory');
  expect(stderr).toBe(
    `machineconfig-guard: node oc-1 does not exist; see: oc --kubeconfig ${kubeconfig} --context in-memory get nodes\n`,
  );
});

test('names the cluster in the advice about a rejected config', async () => {
  const { run, kubeconfig } = await startHealthyCluster();
  const { stdout } = await run('restore', '--from', writeConfig());
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `run "machineconfig-guard check --kubeconfig ${kubeconfig}" to`,
  );
});

test.each(['/apis/machineconfiguration.openshift.io/v1/machineconfigpools', '/api/v1/nodes'])(
  'Ctrl-C ends the command while %s is not answered',
  async (hanging) => {
    const { start, cluster } = await startHealthyCluster();
    cluster.faults.intercept(({ path: requested }) => (requested === hanging ? 'hang' : 'pass'));
    const source = hanging.endsWith('nodes') ? 'node/worker-0' : writeConfig();
    const { child, outcome } = start('restore', '--confirm', '--from', source);
    const { requests } = cluster.faults;
    await vi.waitUntil(() => requests.some((request) => request.path === hanging), { timeout: 30_000 });
    child.kill('SIGINT');
    const startedAt = performance.now();
    expect(await outcome).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'machineconfig-guard: interrupted; nothing was written\n',
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  },
  60_000,
);
