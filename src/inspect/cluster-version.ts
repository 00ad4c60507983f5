import { GUARD_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { readObject } from './cluster-access.ts';

/** Unknown values are null. */
export interface ClusterVersion {
  /** Such as `v1.31.1`. */
  readonly kubernetesVersion: string | null;
  readonly guardVersion: string | null;
  readonly guardImage: string | null;
}

interface StoredGuard {
  readonly status?: { readonly version?: unknown };
}

interface StoredDeployment {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: unknown }[] } };
  };
}

/** `registry:5000/guard:0.1.0@sha256:…` has the tag 0.1.0. */
const TAG = /^[^@]*:(?<tag>\w[-.\w]{0,127})(?:@|$)/;

/** @throws ClusterAccessError, TimeoutError */
export async function readClusterVersion(api: KubeApi, namespace: string): Promise<ClusterVersion> {
  const server = (await readObject(api, '/version')) as { readonly gitVersion?: unknown } | undefined;
  const deploymentPath = `/apis/apps/v1/namespaces/${namespace}/deployments/machineconfig-guard`;
  const deployment = (await readObject(api, deploymentPath)) as StoredDeployment | undefined;
  // An image with a digest only has no version. The status has the version of the leader.
  const guard = (await readObject(api, GUARD_PATH)) as StoredGuard | undefined;
  const image = toText(deployment?.spec?.template?.spec?.containers?.[0]?.image);
  const tag = TAG.exec(image ?? '')?.groups?.['tag'] ?? null;
  return {
    kubernetesVersion: toText(server?.gitVersion),
    guardVersion: deployment === undefined ? null : (toText(guard?.status?.version) ?? tag),
    guardImage: image,
  };
}

function toText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
