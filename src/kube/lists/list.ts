import { finished } from 'node:stream/promises';
import type { ApiObject } from '../api-object.ts';
import { acceptHeaderForStreamedList, PROTOBUF_MEDIA_TYPE, type Resource } from '../resource.ts';
import { ApiError, type ApiResponse, ApiUnreachable, type KubeApi, describeError } from '../api.ts';
import { isServed } from '../discovery.ts';
import { MalformedList, type ListParser, JsonListParser } from './json-list-parser.ts';
import { ProtobufListParser } from './protobuf-list-parser.ts';

/** How much of each object is needed. */
export type ListOptions = Pick<Resource<{ readonly name: string }>, 'isMetadataOnly' | 'annotations'>;

/** Which of a source's collections answered, and as of when. */
export interface ListResult {
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
export async function listResource(
  api: KubeApi,
  source: Pick<Resource<{ readonly name: string }>, 'paths' | 'isOptional' | 'name'> & ListOptions,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<ListResult | undefined> {
  for (const [index, collection] of source.paths.entries()) {
    try {
      const resourceVersion = await listCollection(api, collection, source, onObject, signal);
      return { collection, resourceVersion };
    } catch (error) {
      const last = index === source.paths.length - 1;
      if (!isNotFound(error) || (last && !source.isOptional)) throw error;
      if (await isServed(api, collection, signal)) {
        throw new ApiUnreachable(`${source.name} are served, and yet their list was answered 404`);
      }
    }
  }
  return undefined;
}

/** One un-paged list of one collection, item by item. Returns its resourceVersion. Throws as {@link listResource}. */
export async function listCollection(
  api: KubeApi,
  collection: string,
  { isMetadataOnly, annotations }: ListOptions,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<string> {
  const response = await api.request({ path: collection, accept: acceptHeaderForStreamedList(isMetadataOnly), signal });
  const isProtobuf = response.headers['content-type']?.startsWith(PROTOBUF_MEDIA_TYPE) === true;
  const stream = isProtobuf
    ? new ProtobufListParser(onObject, annotations)
    : new JsonListParser((item) => {
        onObject(item as ApiObject);
      });
  await pour(response, stream, signal);
  return stream.end().resourceVersion;
}

/** Does this say that there is no such object or kind? For a kind, its directory has to say so too. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** May the same request succeed a moment later? Refusals on principle (401, 403, 406 …) do not. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof ApiUnreachable ||
    error instanceof MalformedList ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500))
  );
}

async function pour({ body }: ApiResponse, stream: ListParser, signal: AbortSignal): Promise<void> {
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
      throw new ApiUnreachable(`the answer broke off: ${describeError(error)}`);
    }
    throw error;
  }
}
