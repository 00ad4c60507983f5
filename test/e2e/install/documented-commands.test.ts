import { access } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Shell } from '../support/shell.ts';

const NAMESPACE = `${PATHS.namespaces}/machineconfig-guard`;
const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
const INSTALL = DocumentedPage.read('docs/install.md');
const README = DocumentedPage.read('README.md');
const FLEET = DocumentedPage.read('docs/fleet/README.md');

let installed: InstalledCluster;
let shell: Shell;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  shell = await Shell.open(installed.controlPlane);
  const { cluster } = installed;
  await cluster.config({ name: CONFIG });
  await cluster.node({ name: 'worker-0', currentConfig: CONFIG });
}, 120_000);

afterAll(() => installed.stop());

async function gone(): Promise<void> {
  await until('the namespace to go', async () => (await installed.cluster.admin.find(NAMESPACE)) === undefined, {
    timeoutMs: 60_000,
  });
  await installed.kubelet.settled();
}

test('README.md: installed, verified, switched, refused, uninstalled', async () => {
  await README.type(shell, { under: 'Install it', isWanted: (line) => line.startsWith('oc apply') });
  await installed.awaitGuard();
  // The first screen: what a person sees, but for the line breaks and the end of the link.
  const [{ stderr }] = await README.type(shell, {
    under: 'machineconfig-guard',
    exitCodes: { [`oc delete machineconfig ${CONFIG}`]: 1 },
  });
  const shown = await shell.type(
    `sed -n '/^Error from server/,/^\`\`\`/p' ${join(import.meta.dirname, '../../../README.md')}`,
  );
  const [words = ''] = shown.stdout.replaceAll(/\s+/g, ' ').split(' See …');
  expect(words).toMatch(/^Error from server \(Forbidden\)/);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(words);
  await README.type(shell, { under: 'Install it', isWanted: (line) => !line.startsWith('oc apply') });
  await gone();
  expect(README.left).toEqual([]);
}, 180_000);

test('docs/install.md, in a running cluster', async () => {
  await INSTALL.type(shell, {
    under: 'In a running cluster',
    isWanted: (line) => !line.startsWith('machineconfig-guard'),
  });
  await installed.awaitGuard();
  const [{ stdout }] = await INSTALL.type(shell, {
    under: 'In a running cluster',
    isWanted: (line) => line.startsWith('machineconfig-guard'),
  });
  expect(stdout).toMatch(/^Protected: /m);
  shell.goHome();
  await INSTALL.type(shell, { under: 'Uninstall', isWanted: (line) => line.startsWith('oc delete -k') });
  await gone();
}, 180_000);

test('docs/install.md, before the install, upgraded afterwards, its authority exchanged', async () => {
  await INSTALL.type(shell, { under: 'Before the install' });
  // As an installer does.
  await kubectlOk(installed.controlPlane, ['apply', '--filename', join(shell.home, 'cluster/openshift')]);
  await installed.awaitGuard();

  await INSTALL.type(shell, { under: 'Upgrade' });
  await installed.awaitGuard();
  // The key does not stay on the laptop.
  await expect(access(join(shell.home, 'ca'))).rejects.toThrow('ENOENT');
  const [{ stdout }] = await INSTALL.type(shell, { under: 'Certificates' });

  expect(stdout).toContain('rotation/');
}, 180_000);

test('docs/install.md, the namespace was deleted first', async () => {
  await installed.cluster.admin.delete(NAMESPACE);
  await gone();

  await INSTALL.type(shell, {
    under: 'Uninstall',
    isWanted: (line) => line.includes('validatingwebhookconfiguration'),
  });

  await expect.poll(async () => (await installed.dryRun(CONFIG)).status, { timeout: 5_000 }).toBe(200);
  expect(INSTALL.left).toEqual([]);
}, 120_000);

test('docs/fleet/README.md', async () => {
  await kubectlOk(installed.controlPlane, ['create', 'namespace', 'edge-0815']);

  await FLEET.type(shell, { under: 'Extra manifests for ZTP' });

  const json = await kubectlOk(installed.controlPlane, ['get', 'configmaps', '-n', 'edge-0815', '--output=json']);
  const { items } = JSON.parse(json) as { items: { metadata: { name: string }; data: object }[] };
  const made = items.find(({ metadata }) => metadata.name === 'machineconfig-guard-manifests');
  expect(Object.keys(made?.data ?? {})).toContainEqual(expect.stringMatching(/^99_machineconfig-guard-\d+-deployment/));
  expect(FLEET.left).toEqual([]);
});
