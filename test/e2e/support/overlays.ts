import { readdirSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { minorOf } from '../control-plane/releases.ts';
import { kubectlOk } from './kubectl.ts';

export const MANIFESTS = fileURLToPath(new URL('../../../manifests', import.meta.url));

/** Names of all overlays. */
export const OVERLAYS = readdirSync(join(MANIFESTS, 'overlays')).sort();

/** The directory of an overlay, or another absolute path unchanged. */
export function overlay(name: string) {
  return resolve(MANIFESTS, 'overlays', name);
}

/** Whether the API server serves ValidatingAdmissionPolicy v1. */
export function hasPolicies({ binaries }: ControlPlane) {
  return minorOf(binaries.release.kubernetes) >= 30;
}

/** The names of the guard's objects, as `kind/name`: the cluster-wide ones, and those in the namespace default. */
export async function listLeftovers(controlPlane: ControlPlane): Promise<readonly string[]> {
  const policies = hasPolicies(controlPlane) ? ',validatingadmissionpolicybindings,validatingadmissionpolicies' : '';
  // In the order in which `removeGuard` deletes them.
  const kinds =
    `validatingwebhookconfigurations${policies},flowschemas,clusterrolebindings,clusterroles,` +
    'customresourcedefinitions,namespaces,roles,rolebindings';
  const names = await kubectlOk(controlPlane, ['get', kinds, '--namespace=default', '--output=name']);
  return names.split('\n').filter((name) => name.includes('machineconfig-guard'));
}

/** The directory of an overlay for the release: before OpenShift 4.17 with its component. */
export async function overlayForRelease(controlPlane: ControlPlane, name: string) {
  if (hasPolicies(controlPlane)) return overlay(name);
  const openshiftMinor = minorOf(controlPlane.binaries.release.kubernetes) - 13;
  return combine(controlPlane, overlay(name), [`openshift-4.${openshiftMinor}`]);
}

/** Writes a directory that adds components to another directory, and returns its path. */
export async function combine({ directory: parent }: ControlPlane, resource: string, components: readonly string[]) {
  const directory = await mkdtemp(join(parent, 'component-'));
  const toRelative = (path: string) => relative(directory, path);
  const kustomization = {
    resources: [toRelative(resource)],
    components: components.map((name) => toRelative(join(MANIFESTS, 'components', name))),
  };
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
  return directory;
}
