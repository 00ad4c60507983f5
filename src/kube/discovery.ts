import { ApiError, ApiUnreachable, type KubeApi } from './api.ts';

/** `/apis/GROUP/VERSION/RESOURCE` */
const COLLECTION = /^\/apis\/(?<group>[^/]+)\/(?<version>[^/]+)\/(?<resource>[^/]+)$/;

/**
 * Does the API server's own directory say that it serves this collection? Asked after a 404, which alone proves little: a
 * proxy that has lost its way answers the same, and "no such references" lets a config go.
 *
 * @throws ApiError, ApiUnreachable, or the signal's reason where the directory cannot be read
 */
export async function isServed(api: Pick<KubeApi, 'json'>, collection: string, signal: AbortSignal): Promise<boolean> {
  const { group = '', version = '', resource = '' } = COLLECTION.exec(collection)?.groups ?? {};
  // Core kinds are always served.
  if (group === '') return true;
  try {
    const list = (await api.json({ path: `/apis/${group}/${version}`, signal })) as Directory;
    return named(list, 'APIResourceList', 'resources').some(({ name }) => name === resource);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  const groups = named((await api.json({ path: '/apis', signal })) as Directory, 'APIGroupList', 'groups');
  return groups.some(({ name, versions = [] }) => name === group && versions.some((one) => one.version === version));
}

interface Directory {
  readonly kind?: unknown;
  readonly resources?: readonly Entry[];
  readonly groups?: readonly Entry[];
}

interface Entry {
  readonly name?: string;
  readonly versions?: readonly { readonly version?: string }[];
}

function named(directory: Directory, kind: string, field: 'resources' | 'groups'): readonly Entry[] {
  const entries = directory.kind === kind ? directory[field] : undefined;
  if (!Array.isArray(entries)) throw new ApiUnreachable(`the API server's directory is no ${kind}`);
  return entries as readonly Entry[];
}
