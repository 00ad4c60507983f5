import type { Referrer, ReferrerKind } from '../decision/references.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { orUndefined } from '../kube/errors.ts';
import { acceptHeaderForObject } from '../kube/resource.ts';
import { REFERRER_RESOURCES } from './sources.ts';

/**
 * Gets one referrer from the API server. A GET is a quorum read of etcd and never stale.
 *
 * @returns undefined if the object does not exist
 * @throws ApiError, ApiUnreachable, MalformedObject, or the signal's reason
 */
export async function getReferrer(
  api: KubeApi,
  kind: ReferrerKind,
  name: string,
  signal: AbortSignal,
): Promise<Referrer | undefined> {
  const resource = REFERRER_RESOURCES.find((candidate) => candidate.kind === kind);
  if (resource === undefined) return undefined;
  const accept = acceptHeaderForObject(resource.isMetadataOnly);
  for (const path of resource.paths) {
    const object = await orUndefined(api.json({ path: objectPath(path, name), accept, signal }));
    if (object !== undefined) return resource.parse(object as ApiObject);
  }
  return undefined;
}
