import type { KubeApi } from './api.ts';
import { ApiUnreachable, isNotFound } from './errors.ts';

/** `/apis/GROUP/VERSION/RESOURCE` */
const COLLECTION = /^\/apis\/(?<group>[^/]+)\/(?<version>[^/]+)\/(?<resource>[^/]+)$/;

/**
 * Whether discovery lists this collection. A misconfigured proxy can also answer 404, and an absent
 * collection counts as "no references" (docs/adr/0001).
 *
 * @throws ApiError, ApiUnreachable, or the signal's reason
 */
export async function isServed(
  api: Pick<KubeApi, 'json'>,
  collection: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { group, version, resource } = COLLECTION.exec(collection)?.groups ?? {};
  // The core group is always served.
  if (group === undefined || version === undefined) return true;
  try {
    const list = (await api.json({ path: `/apis/${group}/${version}`, signal })) as DiscoveryList;
    return readEntries(list, 'APIResourceList', 'resources').some(({ name }) => name === resource);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const groups = readEntries(
    (await api.json({ path: '/apis', signal })) as DiscoveryList,
    'APIGroupList',
    'groups',
  );
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

function readEntries(
  list: DiscoveryList,
  kind: string,
  field: 'resources' | 'groups',
): readonly DiscoveryEntry[] {
  const entries = list.kind === kind ? list[field] : undefined;
  if (!Array.isArray(entries)) throw new ApiUnreachable(`discovery returned no ${kind}`);
  return entries as readonly DiscoveryEntry[];
}
