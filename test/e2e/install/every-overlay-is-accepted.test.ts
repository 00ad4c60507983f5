import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { statusOf, type KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { foreignCrds } from '../support/go-module.ts';
import { buildDirectory, kubectl, kubectlOk } from '../support/kubectl.ts';
import { deploymentIn, overlay, OVERLAYS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

const NAMESPACE = `${PATHS.namespaces}/machineconfig-guard`;

const WITHOUT_POD: ReadonlySet<string> = new Set(['dashboard', 'monitoring-rendered', 'policy-floor']);
/** What is there before an overlay that is applied beside an installation. */
const BESIDE: ReadonlySet<string> = new Set(['monitoring-rendered']);

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin } = controlPlane.apiServer;
  for (const project of ['cert-manager', 'prometheus-operator'] as const) {
    for (const crd of await foreignCrds(project)) await admin.create(PATHS.crds, crd);
  }
  // The console looks for dashboards there.
  await kubectlOk(controlPlane, ['create', 'namespace', 'openshift-config-managed']);
  await until(
    'the CRDs',
    async () => (await kubectl(controlPlane, ['get', 'servicemonitors,prometheusrules,issuers'])).exitCode === 0,
    {
      timeoutMs: 20_000,
    },
  );
});

afterAll(() => controlPlane.stop());

/** The pod of an overlay, as pod security judges it. */
async function dryRunPod(name: string) {
  const template = deploymentIn(await buildDirectory(controlPlane.kubectl, overlay(name)))?.spec.template;
  if (template === undefined) return undefined;
  const pod = { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...template.metadata, name: 'dry-run' } };
  return controlPlane.apiServer.admin.request('POST', `${NAMESPACE}/pods`, pod, { query: { dryRun: 'All' } });
}

/** The version of each object of an overlay, as it is in the cluster. */
async function resourceVersions(name: string): Promise<readonly (string | undefined)[]> {
  const json = await kubectlOk(controlPlane, ['get', '--kustomize', overlay(name), '--output=json']);
  const answer = JSON.parse(json) as KubeObject & { readonly items?: readonly KubeObject[] };
  // Of an overlay with one object it is that object.
  return (answer.items ?? [answer]).map(
    ({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion ?? ''}`,
  );
}

test('there are the overlays that the documentation names', () => {
  expect(OVERLAYS).toEqual([
    'cert-manager',
    'dashboard',
    'fail-open-with-floor',
    'host-network',
    'monitoring',
    'monitoring-rendered',
    'policy-floor',
    'service-ca',
    'single-node',
  ]);
});

describe.each(OVERLAYS)('%s', (name) => {
  beforeAll(async () => {
    if (BESIDE.has(name)) await kubectlOk(controlPlane, ['create', 'namespace', 'machineconfig-guard']);
  });

  afterAll(async () => {
    if (BESIDE.has(name)) await kubectlOk(controlPlane, ['delete', 'namespace', 'machineconfig-guard']);
  });

  test('every object is applied, strictly validated, without a warning', async () => {
    const { exitCode, stderr } = await kubectl(controlPlane, [
      'apply',
      '--validate=strict',
      '--kustomize',
      overlay(name),
    ]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  test('applied once more, nothing changes', async () => {
    const before = await resourceVersions(name);
    await kubectlOk(controlPlane, ['apply', '--kustomize', overlay(name)]);

    expect(await resourceVersions(name)).toEqual(before);
  });

  test('pod security lets its pod in, without a warning', async () => {
    const response = await dryRunPod(name);

    if (WITHOUT_POD.has(name)) expect(response).toBeUndefined();
    else expect(response).toMatchObject({ status: 201, warnings: [] });
  });

  test('deleted, it leaves nothing behind', async () => {
    const objects = await buildDirectory(controlPlane.kubectl, overlay(name));
    await kubectlOk(controlPlane, ['delete', '--timeout=30s', '--kustomize', overlay(name)]);

    for (const { kind, metadata } of objects) {
      const where = metadata.namespace === undefined ? [] : ['--namespace', metadata.namespace];
      const { exitCode, stderr } = await kubectl(controlPlane, ['get', kind, metadata.name, ...where]);
      // A kind that went with its definition is gone just as well.
      expect({ exitCode, stderr }, `${kind} ${metadata.name}`).toEqual({
        exitCode: 1,
        stderr: expect.stringMatching(/NotFound|doesn't have a resource type/),
      });
    }
    const mine = 'app.kubernetes.io/name=machineconfig-guard';
    const kinds = 'namespaces,clusterroles,clusterrolebindings,crds,validatingwebhookconfigurations,flowschemas';
    expect(await kubectlOk(controlPlane, ['get', kinds, '--selector', mine, '--output=name'])).toBe('');
  });
});

test('the network of the host is refused in a restricted namespace: pod security does judge here', async () => {
  await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('service-ca')]);
  const response = await dryRunPod('host-network');

  expect(response?.status).toBe(403);
  expect(response === undefined ? '' : statusOf(response).message).toContain('host namespaces');
});
