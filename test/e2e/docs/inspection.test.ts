import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { DocumentedPage } from '../support/documented-page.ts';
import { ensureOperatorNamespace } from '../restore/machines.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { openShell } from '../support/shell.ts';

const PAGE = 'docs/inspect.md';
const KUBECONFIG = '/opt/openshift/auth/kubeconfig-loopback';
const installed = await sharedInstalledCluster();
const shell = await openShell(installed.controlPlane);

await installed.clear();
await ensureOperatorNamespace(installed.cluster);
await createShownCluster();
for (let count = 0; count < 2; count += 1) await installed.cluster.config();

afterAll(() => installed.clear());

/** The cluster that the page shows: an agent-based install that stopped at 93 % (OpenShift 4.18.32). */
async function createShownCluster() {
  const { cluster } = installed;
  const missing = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
  const master = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
  const worker = 'rendered-worker-25a1be6c1264c64551ae911d23717173';
  for (const name of [master, worker]) await cluster.config({ name });
  for (const name of ['control1.gw.lo', 'control2.gw.lo']) {
    await cluster.node({ name, role: 'master', currentConfig: missing, desiredConfig: missing });
    const notFound = `machineconfig.machineconfiguration.openshift.io "${missing}" not found`;
    await cluster.moveNode(name, { state: 'Degraded', reason: `missing MachineConfig ${missing}\n${notFound}` });
  }
  await cluster.node({ name: 'worker0.gw.lo', currentConfig: worker, desiredConfig: worker });
  await cluster.pool({ name: 'master', spec: master });
  await cluster.pool({ name: 'worker', spec: worker, status: worker });
}

test('the commands of docs/inspect.md work in the cluster that the page shows', async () => {
  const page = new DocumentedPage(PAGE);

  for (const { stderr } of await page.run(shell)) {
    expect(stderr.replace(/^Point-in-time snapshot.*\n/, '')).toBe('');
  }

  expect(page.remaining).toEqual([]);
});

test('the documented script prints the repair instead of a reboot for a missing config', async () => {
  const text = readFileSync(join(shell.home, PAGE), 'utf8');
  const script = /^```bash\n(?<script>[\s\S]*?)^```$/m.exec(text)?.groups?.['script'] ?? '';
  expect(script).toContain('systemctl reboot');
  const systemctl = join(shell.home, '.local', 'bin', 'systemctl');
  await writeFile(systemctl, '#!/bin/sh\necho rebooting\n');
  await chmod(systemctl, 0o755);

  const { exitCode, stdout, stderr } = await shell.run(
    `( ${script.replace(KUBECONFIG, installed.controlPlane.apiServer.kubeconfig)} )`,
  );

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/control1\.gw\.lo/);
  // Each printed command has its purpose above it.
  expect(stderr).toMatch(
    /^# create the missing config again.*\nmachineconfig-guard restore rendered-\S+ --from node\//m,
  );
  expect(stderr).toMatch(/^# if no copy of the missing config exists: .*\n# oc annotate node /m);
  expect(stderr).not.toMatch(/^oc annotate /m);
});
