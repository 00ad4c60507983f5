import { deploymentPath, INSTALLED_NAME } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { orForbidden, readObject } from './cluster-access.ts';
import { readGuard } from './guard-report.ts';

/** Unknown values are null. */
export interface ClusterVersion {
  /** Such as `v1.31.1`. */
  readonly kubernetesVersion: string | null;
  readonly guardVersion: string | null;
  readonly guardImage: string | null;
}

interface StoredDeployment {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: unknown }[] } };
  };
}

/**
 * Reads the version of the guard that leads from its status, and the image from its Deployment, which a user may lack
 * the right to read.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readClusterVersion(api: KubeApi, namespace: string): Promise<ClusterVersion> {
  const kubernetesVersion = await readKubernetesVersion(api);
  const guardVersion = toText((await readGuard(api))?.status?.version);
  const image = readImage(api, namespace);
  return {
    kubernetesVersion,
    guardVersion,
    guardImage: guardVersion === null ? await image : ((await orForbidden(image)) ?? null),
  };
}

/** @throws ClusterAccessError, TimeoutError */
export async function readKubernetesVersion(api: KubeApi): Promise<string | null> {
  const server = (await readObject(api, '/version')) as { readonly gitVersion?: unknown } | undefined;
  return toText(server?.gitVersion);
}

async function readImage(api: KubeApi, namespace: string): Promise<string | null> {
  const deployment = (await readObject(api, deploymentPath(namespace, INSTALLED_NAME))) as StoredDeployment | undefined;
  return toText(deployment?.spec?.template?.spec?.containers?.[0]?.image);
}

function toText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
