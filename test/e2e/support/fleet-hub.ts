import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import { DocumentedPage } from './documented-page.ts';
import type { ForeignProject } from './foreign-crds.ts';
import { InstalledCluster } from './installed-cluster.ts';
import { kubectlOk } from './kubectl.ts';
import { PATHS } from './paths.ts';
import { Shell } from './shell.ts';

const PAGE = 'docs/fleet/README.md';
export const PAGE_TEXT = readFileSync(PAGE, 'utf8');

const CRDS = [
  'open-cluster-management',
  'open-cluster-management-policies',
  'openshift-mirrors',
  'siteconfig',
  'topology-aware-lifecycle-manager',
] as const;
const NAMESPACES = ['edge-0815', 'open-cluster-management-observability'];
const HEADINGS = ['New clusters', 'All clusters', 'Mode and hold', 'Policies without a pod', 'Metrics', 'Roll-out'];

/** A hub in which the commands of the page have run, except those of seed images. */
export async function startFleetHub(crds: readonly ForeignProject[] = []) {
  const hub = await InstalledCluster.start([...CRDS, ...crds]);
  const shell = await Shell.open(hub.controlPlane);
  const page = new DocumentedPage(PAGE);
  for (const name of NAMESPACES) await kubectlOk(hub.controlPlane, ['create', 'namespace', name]);
  const managed = {
    apiVersion: 'cluster.open-cluster-management.io/v1',
    kind: 'ManagedCluster',
    metadata: { name: 'edge-0815' },
  };
  await kubectlOk(hub.controlPlane, ['create', '--filename=-'], JSON.stringify(managed));
  for (const heading of HEADINGS) await page.run(shell, { heading });
  return { hub, shell, page };
}

/** What the page adds to a ClusterInstance, with the name of the ConfigMap. */
export function readFragment() {
  const [, text = ''] = /```yaml\n(spec:\n {2}extra[^`]*)```/.exec(PAGE_TEXT) ?? [];
  const { spec } = parse(text) as { readonly spec: { readonly extraManifestsRefs: readonly { name: string }[] } };
  return { spec, name: spec.extraManifestsRefs[0]?.name ?? '' };
}

/** The manifests that zero touch provisioning creates during the installation of the cluster. */
export async function readInstallManifests({ cluster }: InstalledCluster): Promise<string> {
  const configMap = await cluster.admin.find(`${PATHS.namespaces}/edge-0815/configmaps/${readFragment().name}`);
  return Object.values(configMap?.data ?? {}).join('\n---\n');
}
