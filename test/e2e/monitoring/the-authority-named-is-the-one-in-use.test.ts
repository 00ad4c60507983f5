import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { KubeObject } from '../control-plane/kube-client.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { deploymentIn, MANIFESTS } from '../support/overlays.ts';
import { runBinaries } from '../support/run-binaries.ts';

let directory: string;

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'mcg-kustomization-')));
});

afterAll(() => rm(directory, { recursive: true }));

/** The base with components, as somebody's own kustomization has them. */
async function composed(...components: readonly string[]): Promise<readonly KubeObject[]> {
  const manifests = relative(directory, await realpath(MANIFESTS));
  const kustomization = {
    resources: [join(manifests, 'base')],
    components: components.map((name) => join(manifests, 'components', name)),
  };
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
  return buildDirectory((await runBinaries()).kubectl, directory);
}

function named(objects: readonly KubeObject[], kind: string, name: string): KubeObject | undefined {
  return objects.find((object) => object.kind === kind && object.metadata.name === name);
}

/** What the ServiceMonitor trusts. */
function trusted(objects: readonly KubeObject[]): unknown {
  const spec = named(objects, 'ServiceMonitor', 'machineconfig-guard')?.spec as
    { readonly endpoints: readonly { readonly tlsConfig: { readonly ca: unknown } }[] } | undefined;
  expect(spec?.endpoints).toHaveLength(1);
  return spec?.endpoints[0]?.tlsConfig.ca;
}

test('service-ca: the ConfigMap that the service CA fills in', async () => {
  const objects = await composed('service-ca', 'monitoring');

  expect(trusted(objects)).toEqual({ configMap: { name: 'machineconfig-guard-service-ca', key: 'service-ca.crt' } });
  expect(named(objects, 'ConfigMap', 'machineconfig-guard-service-ca')?.metadata.annotations).toEqual({
    'service.beta.openshift.io/inject-cabundle': 'true',
  });
});

test('generated: the Secret that the replicas issue their certificates from', async () => {
  const objects = await composed('generated', 'monitoring-generated');

  expect(trusted(objects)).toEqual({ secret: { name: 'machineconfig-guard-ca', key: 'ca.crt' } });
  const [container] = deploymentIn(objects)?.spec.template.spec.containers ?? [];
  expect(container?.args).toContain('--tls-secret=machineconfig-guard/machineconfig-guard-ca');
  expect(named(objects, 'ConfigMap', 'machineconfig-guard-service-ca')).toBeUndefined();
});

test('cert-manager: the Secret of the serving certificate, where cert-manager puts the authority that issued it', async () => {
  const objects = await composed('cert-manager', 'monitoring-cert-manager');

  const certificate = named(objects, 'Certificate', 'machineconfig-guard-serving')?.spec as { secretName: string };
  expect(trusted(objects)).toEqual({ secret: { name: certificate.secretName, key: 'ca.crt' } });
  expect(named(objects, 'ConfigMap', 'machineconfig-guard-service-ca')).toBeUndefined();
});
