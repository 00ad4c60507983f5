import type { ApiObject } from './api-object.ts';
import { objectPath } from './api-paths.ts';
import type { KubeApi } from './api.ts';
import { isAbsent, isNotFound } from './errors.ts';
import type { Purpose } from './transport.ts';
import { acceptHeaderForObject, type Resource } from './resource.ts';

/**
 * Gets one object from the API server. A GET is a quorum read of etcd and never stale.
 *
 * @returns undefined if the object does not exist
 * @throws ApiError, ApiUnreachable, MalformedObject, or the signal's reason
 */
export async function getObject<Item extends { readonly name: string }>(
  api: Pick<KubeApi, 'json'>,
  { paths, isMetadataOnly, parse }: Resource<Item>,
  name: string,
  signal: AbortSignal,
  purpose: Purpose = 'requests',
): Promise<Item | undefined> {
  const accept = acceptHeaderForObject(isMetadataOnly);
  let notServed: unknown;
  for (const path of paths) {
    try {
      return parse((await api.json({ path: objectPath(path, name), accept, purpose, signal })) as ApiObject);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      if (!isNotFound(error)) throw error;
      notServed = error;
    }
  }
  throw notServed;
}
