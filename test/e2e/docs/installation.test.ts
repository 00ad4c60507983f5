import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeGuard, sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { awaitFloor } from '../support/floor.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { listLeftovers } from '../support/overlays.ts';
import { PATHS } from '../support/objects.ts';
import { openShell } from '../support/shell.ts';

const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
const DELETION = `kubectl delete machineconfig ${CONFIG}`;
const README = new DocumentedPage('README.md');
const INSTALL = new DocumentedPage('docs/install.md');
const YEAR = new DocumentedPage('docs/year.md');

const installed = await sharedNodeCluster();
const { cluster, controlPlane } = installed;
const shell = await openShell(controlPlane);
await cluster.config({ name: CONFIG });
await cluster.node({ name: 'worker-0', currentConfig: CONFIG });
await cluster.pool({ name: 'worker', spec: CONFIG });

const isApply = (line: string) => line.endsWith('oc apply -f -');
const isVerify = (line: string) => line.startsWith('machineconfig-guard verify');

test('README.md installs, tries, verifies and switches off the guard', async () => {
  await README.run(shell, { heading: 'Install it', isWanted: (line) => !isVerify(line) });
  await installed.awaitGuard();
  await shell.run('cd');
  const [{ stderr }] = await README.run(shell, {
    heading: 'machineconfig-guard',
    exitCodes: { [DELETION]: 1 },
  });
  expect(stderr).toMatch(/^Error from server \(Forbidden\): .*: MCG_IN_USE: /);
  await README.run(shell, { heading: 'Install it', isWanted: isVerify });
  await README.run(shell, { heading: 'While the guard is down' });
  await removeGuard(installed);
  expect(README.remaining).toEqual([]);
});

test('docs/install.md installs into a running cluster and uninstalls', async () => {
  const heading = 'In a running cluster';
  await INSTALL.run(shell, { heading, isWanted: (line) => !isVerify(line) });
  await installed.awaitGuard();
  const [{ stdout }] = await INSTALL.run(shell, { heading, isWanted: isVerify });
  expect(stdout).toMatch(/^PROTECTED: /m);
  await shell.run('cd');
  const uninstalled = await INSTALL.run(shell, { heading: 'Uninstall' });
  expect(uninstalled.at(-1)?.stdout).toContain(`Nothing denies the deletion of ${CONFIG} (dry run).`);
  expect(await listLeftovers(controlPlane)).toEqual([]);
});

test('docs/install.md renders files, upgrades and rotates the authority', async () => {
  await INSTALL.run(shell, { heading: 'Before the install' });
  const rendered = join(shell.home, 'cluster/openshift');
  await kubectlOk(controlPlane, ['apply', '--filename', rendered]);
  await installed.awaitGuard();

  await INSTALL.run(shell, { heading: 'Upgrade' });
  await installed.awaitGuard();
  const rotation = await INSTALL.run(shell, { heading: 'Certificates' });
  const verified = rotation.filter(({ stdout }) => /^PROTECTED: /m.test(stdout));
  expect(verified).toHaveLength(2);

  await INSTALL.run(shell, { heading: 'Without access to MachineConfigs' });
});

test('docs/install.md applies a policy, makes it warn, switches it off and removes it', async () => {
  const results = await INSTALL.run(shell, { heading: 'Optional policies' });
  const changes = results.map(({ stdout }) =>
    [...stdout.matchAll(/references\S+ (\w+)$/gm)].map(([, change]) => change),
  );
  expect(changes).toEqual([['created', 'created'], ['patched'], ['deleted'], ['deleted']]);
});

test('docs/year.md helps when the namespace was deleted before the webhook', async () => {
  await cluster.admin.delete(PATHS.guardNamespace);
  await expect.poll(async () => (await cluster.dryRun(CONFIG)).status).toBe(500);
  await expect.poll(() => cluster.admin.find(PATHS.guardNamespace)).toBeUndefined();

  const [{ stderr }] = await YEAR.run(shell, { isWanted: isApply });

  expect(stderr).toContain('created a new authority');
  await installed.awaitGuard();
  const [{ stdout }] = await YEAR.run(shell, { isWanted: isVerify });
  expect(stdout).toMatch(/^PROTECTED: /m);
  expect(YEAR.remaining).toEqual([]);
});

test('docs/install.md uninstalls with oc only', async () => {
  const results = await INSTALL.run(shell, { heading: 'With `oc` only' });
  expect(results.at(-1)?.stdout).toMatch(/ deleted \(server dry run\)\n$/);
  expect(await listLeftovers(controlPlane)).toEqual([]);
});

test('docs/install.md applies the policy floor, and all its commands were run', async () => {
  await shell.run('cd');
  await INSTALL.run(shell, { heading: 'Policy floor', isWanted: isApply });
  await awaitFloor(cluster);

  const [{ stdout }] = await INSTALL.run(shell, { heading: 'Policy floor', isWanted: isVerify });
  expect(stdout).toMatch(/^PROTECTED: only the policy /m);
  expect(INSTALL.remaining).toEqual([]);
});
