import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { PAGE_TEXT, readFragment, readInstallManifests, startFleetHub } from '../support/fleet-hub.ts';
import { kubectl, kubectlOk, parseObjects } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';

/** It manages itself. */
const { hub, shell, page } = await startFleetHub();
const { cluster, controlPlane } = hub;
await kubectlOk(controlPlane, ['apply', '--filename=-'], await readInstallManifests(hub));
await hub.awaitGuard();

afterAll(() => hub.stop());

test.each(['policies', 'cluster-group-upgrade', 'image-mirror', 'metrics-allowlist'])(
  'docs/fleet/%s.yaml is valid',
  async (name) => {
    const file = join(shell.home, 'docs/fleet', `${name}.yaml`);
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
