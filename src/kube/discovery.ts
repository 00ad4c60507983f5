import { parseCollection } from './api-paths.ts';
import type { KubeApi } from './api.ts';
import { ApiUnreachable } from './errors.ts';

interface DiscoveryEntry {
  readonly name?: string;
  readonly versions?: readonly { readonly version?: string }[];
}

/**
 * Whether discovery lists this collection. A misconfigured proxy can also answer 404, and an absent
 * collection counts as "no references" (docs/internals/decisions/0001).
 *
 * @throws ApiError, ApiUnreachable, or the signal's reason
 */
export async function isServed(api: Pick<KubeApi, 'json'>, collection: string, signal: AbortSignal): Promise<boolean> {
  const { apiVersion, resource } = parseCollection(collection);
  const read = async (path: string, kind: string, field: 'groups' | 'resources'): Promise<DiscoveryEntry[]> => {
    const list = (await api.json({ path, signal })) as { readonly kind?: unknown; readonly [field: string]: unknown };
    if (list.kind !== kind || !Array.isArray(list[field])) throw new ApiUnreachable(`discovery returned no ${kind}`);
    return list[field] as DiscoveryEntry[];
  };
  // The core group is always served.
  if (!apiVersion.includes('/')) return true;
  const groups = await read('/apis', 'APIGroupList', 'groups');
  const apiVersions = groups.flatMap(({ name, versions = [] }) => versions.map(({ version }) => `${name}/${version}`));
  if (!apiVersions.includes(apiVersion)) return false;
  const resources = await read(`/apis/${apiVersion}`, 'APIResourceList', 'resources');
  return resources.some(({ name }) => name === resource);
}
