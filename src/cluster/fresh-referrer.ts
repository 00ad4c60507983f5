import type { ApiObject, Referrer, ReferrerKind } from '../policy/referrer.ts';
import { ApiError, type ClusterApi } from './api.ts';
import { isNotServed } from './list.ts';
import { acceptObject, SOURCES } from './source.ts';

/**
 * Reads one referrer as it is now. A single GET is answered from etcd by quorum, so it is never late.
 *
 * @returns undefined where the object is gone
 * @throws ApiError, ApiUnreachable, UnreadableObject, or the signal's reason
 */
export async function freshReferrer(
  api: ClusterApi,
  kind: ReferrerKind,
  name: string,
  signal: AbortSignal,
): Promise<Referrer | undefined> {
  const source = SOURCES.find((candidate) => candidate.kind === kind);
  for (const collection of source?.collections ?? []) {
    try {
      const path = `${collection}/${encodeURIComponent(name)}`;
      const object = await api.json({ path, accept: acceptObject(source?.metadataOnly ?? false), signal });
      return source?.read(object as ApiObject);
    } catch (error) {
      if (!(error instanceof ApiError) || !isNotServed(error)) throw error;
    }
  }
  return undefined;
}
