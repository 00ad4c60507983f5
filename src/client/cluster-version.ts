import { deploymentPath, GUARD_PATH, INSTALLED_NAME } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { orForbidden, readObject } from './cluster-access.ts';
import type { StoredGuard } from './guard-report.ts';

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

/** `registry:5000/guard:1.2.3@sha256:…` has the tag 1.2.3. */
const TAG = /^[^@]*:(?<tag>\w[-.\w]{0,127})(?:@|$)/;

/**
 * Reads the version of the guard from its status, else from the tag of its image. The status has the version of the
 * leader, also if the image has only a digest or the user may not read Deployments.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readClusterVersion(api: KubeApi, namespace: string): Promise<ClusterVersion> {
  const kubernetesVersion = await readKubernetesVersion(api);
  const guard = (await readObject(api, GUARD_PATH)) as StoredGuard | undefined;
  const statusVersion = toText(guard?.status?.version);
  const read = readImage(api, namespace);
  const guardImage = statusVersion === null ? await read : ((await orForbidden(read)) ?? null);
  const tag = TAG.exec(guardImage ?? '')?.groups?.['tag'] ?? null;
  return { kubernetesVersion, guardVersion: statusVersion ?? tag, guardImage };
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
