import type { ApiObject } from '../kube/api-object.ts';
import type { Referrer, ReferrerKind } from '../decision/references.ts';
import { acceptHeaderForObject } from '../kube/resource.ts';
import { ApiError, type KubeApi } from '../kube/api.ts';
import { isNotFound } from '../kube/lists/list.ts';
import { REFERRER_RESOURCES } from './sources.ts';

/**
 * Reads one referrer as it is now. A single GET is answered from etcd by quorum, so it is never late.
 *
 * @returns undefined where the object is gone
 * @throws ApiError, ApiUnreachable, UnreadableObject, or the signal's reason
 */
export async function getReferrer(
  api: KubeApi,
  kind: ReferrerKind,
  name: string,
  signal: AbortSignal,
): Promise<Referrer | undefined> {
  const source = REFERRER_RESOURCES.find((candidate) => candidate.kind === kind);
  for (const collection of source?.paths ?? []) {
    try {
      const path = `${collection}/${encodeURIComponent(name)}`;
      const object = await api.json({ path, accept: acceptHeaderForObject(source?.isMetadataOnly ?? false), signal });
      return source?.parse(object as ApiObject);
    } catch (error) {
      if (!(error instanceof ApiError) || !isNotFound(error)) throw error;
    }
  }
  return undefined;
}
