import { finished } from 'node:stream/promises';
import type { ApiObject } from '../policy/referrer.ts';
import { ApiError, type ApiResponse, ApiUnreachable, type ClusterApi, reasonOf } from './api.ts';
import { isServed } from './discovery.ts';
import { BrokenList, type ListReader, ListStream } from './list-stream.ts';
import { MetadataListStream } from './protobuf-list.ts';
import { acceptStreamedList, PROTOBUF, type Source } from './source.ts';

/** How much of each object is needed. */
export type ListForm = Pick<Source, 'metadataOnly' | 'annotations'>;

/** Which of a source's collections answered, and as of when. */
export interface Listed {
  readonly collection: string;
  readonly resourceVersion: string;
}

/**
 * Reads all objects of a source in one consistent list: no resourceVersion, so that the answer holds every write
 * acknowledged before the request; no limit, because the API server answers an un-paged consistent list from its watch
 * cache and a paged one from etcd.
 *
 * @returns undefined where the cluster does not serve this kind and may do without it
 * @throws ApiError, ApiUnreachable, BrokenList, UnreadableObject, or the signal's reason
 */
export async function listSource(
  api: ClusterApi,
  source: Pick<Source, 'collections' | 'optional' | 'resource'> & ListForm,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<Listed | undefined> {
  for (const [index, collection] of source.collections.entries()) {
    try {
      const resourceVersion = await listCollection(api, collection, source, onObject, signal);
      return { collection, resourceVersion };
    } catch (error) {
      const last = index === source.collections.length - 1;
      if (!isNotServed(error) || (last && !source.optional)) throw error;
      if (await isServed(api, collection, signal)) {
        throw new ApiUnreachable(`${source.resource} are served, and yet their list was answered 404`);
      }
    }
  }
  return undefined;
}

/** One un-paged list of one collection, item by item. Returns its resourceVersion. Throws as {@link listSource}. */
export async function listCollection(
  api: ClusterApi,
  collection: string,
  { metadataOnly, annotations }: ListForm,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<string> {
  const response = await api.request({ path: collection, accept: acceptStreamedList(metadataOnly), signal });
  const isProtobuf = response.headers['content-type']?.startsWith(PROTOBUF) === true;
  const stream = isProtobuf
    ? new MetadataListStream(onObject, annotations)
    : new ListStream((item) => {
        onObject(item as ApiObject);
      });
  await pour(response, stream, signal);
  return stream.end().resourceVersion;
}

/** Does this say that there is no such object or kind? For a kind, its directory has to say so too. */
export function isNotServed(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** May the same request succeed a moment later? Refusals on principle (401, 403, 406 …) do not. */
export function mayPass(error: unknown): boolean {
  return (
    error instanceof ApiUnreachable ||
    error instanceof BrokenList ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500))
  );
}

async function pour({ body }: ApiResponse, stream: ListReader, signal: AbortSignal): Promise<void> {
  // By events: a long list comes in thousands of pieces, and a promise for each takes longer than to read it.
  body.on('data', (chunk: Buffer) => {
    try {
      stream.write(chunk);
    } catch (error) {
      body.destroy(error as Error);
    }
  });
  try {
    await finished(body);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof Error && 'code' in error) {
      throw new ApiUnreachable(`the answer broke off: ${reasonOf(error)}`);
    }
    throw error;
  }
}
