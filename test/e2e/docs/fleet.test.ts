import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';

import { DocumentedPage } from '../support/documented-page.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectl, kubectlOk, parseObjects } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { Shell } from '../support/shell.ts';

const FOLDER = 'docs/fleet';
const PAGE = `${FOLDER}/README.md`;
const PAGE_TEXT = readFileSync(PAGE, 'utf8');

/** A hub that manages itself. */
const hub = await InstalledCluster.start([
  'open-cluster-management',
  'open-cluster-management-policies',
  'openshift-mirrors',
  'siteconfig',
  'topology-aware-lifecycle-manager',
]);
const { cluster, controlPlane } = hub;
const shell = await Shell.open(controlPlane);
const page = new DocumentedPage(PAGE);

/** What the page adds to a ClusterInstance, with the name of the ConfigMap. */
function readFragment() {
  const [, text = ''] = /```yaml\n(spec:\n {2}extra[^`]*)```/.exec(PAGE_TEXT) ?? [];
  const { spec } = parse(text) as { readonly spec: { readonly extraManifestsRefs: readonly { name: string }[] } };
  return { spec, name: spec.extraManifestsRefs[0]?.name ?? '' };
}

beforeAll(async () => {
  for (const name of ['edge-0815', 'open-cluster-management-observability'])
    await kubectlOk(controlPlane, ['create', 'namespace', name]);
  const metadata = { name: 'edge-0815' };
  const managed = { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedCluster', metadata };
  await kubectlOk(controlPlane, ['create', '--filename=-'], JSON.stringify(managed));
  for (const heading of [
    'New clusters',
    'All clusters',
    'Mode and hold',
    'Policies without a pod',
    'Metrics',
    'Roll-out',
  ])
    await page.run(shell, { heading });
  // ZTP creates the objects during the installation.
  const configMap = await cluster.admin.find(`${PATHS.namespaces}/edge-0815/configmaps/${readFragment().name}`);
  const manifests = Object.values(configMap?.data ?? {}).join('\n---\n');
  await kubectlOk(controlPlane, ['apply', '--filename=-'], manifests);
  await hub.awaitGuard();
});

afterAll(() => hub.stop());

test.each(['policies', 'cluster-group-upgrade', 'image-mirror', 'metrics-allowlist'])(
  'docs/fleet/%s.yaml is valid',
  async (name) => {
    const file = join(shell.home, FOLDER, `${name}.yaml`);
    const apply = ['apply', '--dry-run=server', '--validate=strict', '--filename', file];
    expect(await kubectl(controlPlane, apply)).toMatchObject({ exitCode: 0, stderr: '' });
  },
);

test('a ClusterInstance can refer to the ConfigMap', async () => {
  const spec = { ...readFragment().spec, clusterName: 'edge-0815', baseDomain: 'example.com', nodes: [] };
  const instance = {
    apiVersion: 'siteconfig.open-cluster-management.io/v1alpha1',
    kind: 'ClusterInstance',
    metadata: { name: 'edge-0815', namespace: 'edge-0815' },
    spec: { ...spec, clusterImageSetNameRef: 'img4.18', pullSecretRef: { name: 'pull' }, templateRefs: [] },
  };
  const create = ['create', '--dry-run=server', '--validate=strict', '--filename=-'];
  expect(await kubectl(controlPlane, create, JSON.stringify(instance))).toMatchObject({ exitCode: 0, stderr: '' });
});

test('Argo CD ignores what the service CA writes', async () => {
  const path = /jqPathExpressions:\n +- (\S+)/.exec(PAGE_TEXT)?.[1] ?? '';
  const { stdout: set } = await shell.run('machineconfig-guard render --tls service-ca --image x --out -');
  const manifest = parseObjects(set).find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  const live = await cluster.admin.find(PATHS.guardWebhook);
  expect(live?.webhooks?.[0]?.clientConfig.caBundle).toMatch(/^LS0t/);
  const { stdout } = await shell.run(`jq 'del(${path}) | .webhooks' <<<'${JSON.stringify(live)}'`);
  const wanted = manifest?.webhooks?.map(({ clientConfig }) => ({ clientConfig }));
  expect(JSON.parse(stdout)).toMatchObject(wanted ?? []);
  expect(stdout).not.toContain('caBundle');
});

test('docs/fleet/README.md switches the hold off and on, and all its commands were run', async () => {
  await page.run(shell, { heading: 'Seed images' });
  expect(page.remaining).toEqual([]);
});
