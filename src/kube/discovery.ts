import type { KubeApi } from './api.ts';
import { ApiUnreachable, orUndefined } from './errors.ts';

/** `/apis/GROUP/VERSION/RESOURCE` */
const COLLECTION = /^\/apis\/(?<group>[^/]+)\/(?<version>[^/]+)\/(?<resource>[^/]+)$/;

/**
 * Whether discovery lists this collection. A misconfigured proxy can also answer 404, and an absent
 * collection counts as "no references" (docs/adr/0001).
 *
 * @throws ApiError, ApiUnreachable, or the signal's reason
 */
export async function isServed(api: Pick<KubeApi, 'json'>, collection: string, signal: AbortSignal): Promise<boolean> {
  const { group, version, resource } = COLLECTION.exec(collection)?.groups ?? {};
  // The core group is always served.
  if (group === undefined || version === undefined) return true;
  const list = await orUndefined(api.json({ path: `/apis/${group}/${version}`, signal }));
  if (list !== undefined) {
    return readEntries(list, 'APIResourceList', 'resources').some(({ name }) => name === resource);
  }
  const groups = readEntries(await api.json({ path: '/apis', signal }), 'APIGroupList', 'groups');
  return groups.some(
    ({ name, versions = [] }) => name === group && versions.some((entry) => entry.version === version),
  );
}

interface DiscoveryList {
  readonly kind?: unknown;
  readonly resources?: readonly DiscoveryEntry[];
  readonly groups?: readonly DiscoveryEntry[];
}

interface DiscoveryEntry {
  readonly name?: string;
  readonly versions?: readonly { readonly version?: string }[];
}

function readEntries(response: unknown, kind: string, field: 'resources' | 'groups'): readonly DiscoveryEntry[] {
  const list = response as DiscoveryList;
  const entries = list.kind === kind ? list[field] : undefined;
  if (!Array.isArray(entries)) throw new ApiUnreachable(`discovery returned no ${kind}`);
  return entries as readonly DiscoveryEntry[];
}
