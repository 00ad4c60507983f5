import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DocumentedPage } from '../support/documented-page.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectl, kubectlOk } from '../support/kubectl.ts';
import { openShell } from '../support/shell.ts';

const FOLDER = 'docs/fleet';

/** A hub that manages itself. */
const hub = await InstalledCluster.start([
  'open-cluster-management',
  'open-cluster-management-policies',
  'openshift-mirrors',
  'topology-aware-lifecycle-manager',
]);
const { controlPlane } = hub;
const shell = await openShell(controlPlane);
const page = new DocumentedPage(`${FOLDER}/README.md`);

beforeAll(async () => {
  for (const name of ['edge-0815', 'open-cluster-management-observability'])
    await kubectlOk(controlPlane, ['create', 'namespace', name]);
  const metadata = { name: 'edge-0815' };
  const managed = { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedCluster', metadata };
  await kubectlOk(controlPlane, ['create', '--filename=-'], JSON.stringify(managed));
});

afterAll(() => hub.stop());

test('the commands of docs/fleet/README.md work on a hub, and its files are valid', async () => {
  for (const heading of [
    'New clusters',
    'All clusters',
    'Mode and hold',
    'Policies without a pod',
    'Metrics',
    'Roll-out',
  ])
    await page.run(shell, { heading });
  for (const name of ['policies', 'cluster-group-upgrade', 'image-mirror', 'metrics-allowlist']) {
    const file = join(shell.home, FOLDER, `${name}.yaml`);
    const apply = ['apply', '--dry-run=server', '--validate=strict', '--filename', file];
    expect(await kubectl(controlPlane, apply)).toMatchObject({ exitCode: 0, stderr: '' });
  }
});

test('the objects of the ConfigMap install a guard, whose hold the page switches off and on', async () => {
  // ZTP creates the objects during the installation.
  const template = '--output=go-template={{range .data}}{{.}}\n---\n{{end}}';
  const get = ['get', 'configmap', 'machineconfig-guard', '--namespace=edge-0815', template];
  const manifests = await kubectlOk(controlPlane, get);
  await kubectlOk(controlPlane, ['apply', '--filename=-'], manifests);
  await hub.awaitGuard();

  await page.run(shell, { heading: 'Seed images' });

  expect(page.remaining).toEqual([]);
});
