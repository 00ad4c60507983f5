import { parseCollection } from './api-paths.ts';
import type { KubeApi } from './api.ts';
import { ApiUnreachable, UnsupportedVersion } from './errors.ts';

interface DiscoveryEntry {
  readonly name?: string;
  readonly versions?: readonly { readonly version?: string }[];
}

/**
 * Checks that the cluster serves a resource in no version. Only then a kind has no references
 * (docs/internals/decisions/0001): a misconfigured proxy can also answer 404, and a new version can be unknown here.
 * @param paths the collections of all known versions, which have answered 404
 * @throws UnsupportedVersion, ApiUnreachable if discovery lists a known version, ApiError, or the signal's reason
 */
export async function assertNotServed(
  api: Pick<KubeApi, 'json'>,
  paths: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<void> {
  const read = async (path: string, kind: string, field: 'groups' | 'resources'): Promise<DiscoveryEntry[]> => {
    const list = (await api.json({ path, signal })) as { readonly kind?: unknown; readonly [field: string]: unknown };
    if (list.kind !== kind || !Array.isArray(list[field])) throw new ApiUnreachable(`discovery returned no ${kind}`);
    return list[field] as DiscoveryEntry[];
  };
  const { group, resource } = parseCollection(paths[0]);
  const known = new Set(paths.map((path) => parseCollection(path).version));
  // The core group is always served.
  const served = new Set(group === '' ? known : []);
  const groups = group === '' ? [] : await read('/apis', 'APIGroupList', 'groups');
  for (const { version = '' } of groups.filter(({ name }) => name === group).flatMap(({ versions = [] }) => versions)) {
    const resources = await read(`/apis/${group}/${version}`, 'APIResourceList', 'resources');
    if (resources.some(({ name }) => name === resource)) served.add(version);
  }
  if (served.size === 0) return;
  if ([...served].some((version) => known.has(version))) {
    throw new ApiUnreachable(`the API server answered 404 for ${resource} although discovery lists them`);
  }
  const versions = [...served].join(' and ');
  throw new UnsupportedVersion(
    `the cluster serves ${resource} only as ${versions}, which this version of the guard cannot read`,
  );
}
