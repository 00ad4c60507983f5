import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import { parse } from 'yaml';
import { expect, test } from 'vitest';

import { buildInstallation, type InstallationOptions } from '../../../src/install/installation.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { runBinaries } from '../support/run-binaries.ts';

const PLAIN: InstallationOptions = {
  image: 'machineconfig-guard:latest',
  profile: 'fail-closed',
  authority: undefined,
  mode: undefined,
  singleNode: false,
  hostNetwork: false,
  kubernetesVersion: { major: 1, minor: 33 },
};

const { kubectl } = await runBinaries();

/** By kustomize itself, of the same parts. */
async function kustomized(resources: readonly string[], components: readonly string[]): Promise<readonly KubeObject[]> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'mcg-kustomize-')));
  const from = (name: string) => relative(directory, join(MANIFESTS, name));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: resources.map(from),
    components: components.map((name) => from(`components/${name}`)),
  };
  try {
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
    return await buildDirectory(kubectl, directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function sorted(objects: readonly KubeObject[]): readonly KubeObject[] {
  return objects.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function keyOf({ kind, metadata: { namespace = '', name } }: KubeObject): string {
  return `${kind}/${namespace}/${name}`;
}

test.each([
  ['service-ca', {}, ['base'], ['service-ca']],
  ['single-node', { singleNode: true }, ['base'], ['service-ca', 'single-node']],
  ['host-network', { hostNetwork: true }, ['base'], ['service-ca', 'host-network']],
  ['both', { hostNetwork: true, singleNode: true }, ['base'], ['service-ca', 'single-node', 'host-network']],
  [
    'fail-open-with-floor',
    { profile: 'fail-open-with-floor' },
    ['base', 'overlays/policy-floor'],
    ['service-ca', 'fail-open'],
  ],
] as const)('%s', async (_name, options, resources, components) => {
  const rendered = buildInstallation({ ...PLAIN, ...options }).files.map(({ content }) => parse(content) as KubeObject);

  expect(sorted(rendered)).toEqual(sorted(await kustomized(resources, components)));
});
