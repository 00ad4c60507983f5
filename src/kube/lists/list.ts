import { finished } from 'node:stream/promises';
import { formatMebibytes } from '../../common/printable-text.ts';
import { type ApiObject, parseTime } from '../api-object.ts';
import { type ApiResponse, type KubeApi, LISTS, type Purpose, toBodyError } from '../api.ts';
import { assertNotServed } from '../discovery.ts';
import { isNotFound, MalformedList } from '../errors.ts';
import { JsonListParser, type ListParser, METADATA } from './list-parser.ts';
import { ProtobufListParser } from './protobuf-list-parser.ts';
import { ACCEPT_METADATA_LIST, ACCEPT_PROTOBUF_LIST, PROTOBUF_MEDIA_TYPE } from '../media-types.ts';
import type { Resource } from '../resource.ts';

type AnyResource = Omit<Resource<{ readonly name: string }>, 'parse'>;

/** A connection can deliver 2 MiB at once, and parsing them takes 15 ms. */
const BYTES_PER_TURN = 256 * 1024;
/**
 * V8 does not count buffers when it decides whether to collect young objects. So those of a list, which has few other
 * objects, would stay until V8 collects the whole heap: once or twice for each list of 2,000 nodes, in 20 ms.
 */
const BYTES_PER_COLLECTION = 2 * 1024 * 1024;
/** No cluster has a tenth of this. An endless list would use up the memory. */
const MAX_BYTES = 1024 ** 3;

export interface ListResult {
  readonly path: string;
  readonly resourceVersion: string;
  /** By the clock of the API server, in whole seconds. */
  readonly servedAt: Date;
  /** Includes those that were not parsed, because they are not needed. */
  readonly itemCount: number;
}

/**
 * Lists a resource without resourceVersion, so the list contains every write that was acknowledged before the request,
 * and without limit, because the API server serves only unpaged consistent lists from its watch cache.
 * @returns undefined if the cluster serves no version of the resource
 * @throws ApiError, ApiUnreachable, UnsupportedVersion, MalformedList, MalformedObject, or the signal's reason
 */
export async function listResource(
  api: KubeApi,
  resource: AnyResource,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
  options?: Omit<CollectionOptions, 'query'>,
): Promise<ListResult | undefined> {
  const { paths, isAlwaysServed } = resource;
  let notFound: unknown;
  for (const path of paths) {
    try {
      // Each served version of a kind has all its objects.
      return await listCollection(api, path, resource, onObject, signal, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      notFound = error;
    }
  }
  if (isAlwaysServed) throw notFound;
  await assertNotServed(api, paths, signal);
  return undefined;
}

export interface CollectionOptions {
  readonly query?: Readonly<Record<string, string>>;
  /** `LISTS` by default. */
  readonly purpose?: Purpose | undefined;
  /**
   * Called at the head of the response. The API server sends it after it has read the whole collection, so the list
   * contains no later write (kubernetes, apiserver/pkg/endpoints/handlers/get.go, ListResource).
   */
  readonly onHead?: (() => void) | undefined;
}

/** Returns the path of a list with this query. */
export function toListPath(collection: string, query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? collection : `${collection}?${search}`;
}

/**
 * Lists one collection and calls `onObject` for each object. A list of another kind is malformed, because
 * without the fields of this kind its objects would look unreferenced.
 * @throws like {@link listResource}
 */
export async function listCollection(
  api: KubeApi,
  path: string,
  resource: Pick<AnyResource, 'kind' | 'isMetadataOnly' | 'isNamespaced' | 'isNeeded' | 'isProtobuf' | 'wanted'>,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
  { query = {}, purpose = LISTS, onHead }: CollectionOptions = {},
): Promise<ListResult> {
  const { kind, isMetadataOnly = false, isNamespaced = path.includes('/namespaces/') } = resource;
  // `/api/v1/nodes` or `/apis/GROUP/VERSION/RESOURCE`.
  const apiVersion = path.startsWith('/apis/') ? path.split('/').slice(2, 4).join('/') : 'v1';
  const response = await api.request({
    path: toListPath(path, query),
    accept: chooseMediaType(resource),
    purpose,
    signal,
  });
  onHead?.();
  const addObject = (object: ApiObject): void => {
    // Metadata does not state its kind. But no object of a cluster-wide kind has a namespace.
    if (!isNamespaced && (object.metadata?.namespace ?? '') !== '')
      throw new MalformedList(`an item of the list has a namespace, unlike a ${kind}`);
    onObject(object);
  };
  const isProtobuf = response.headers['content-type']?.startsWith(PROTOBUF_MEDIA_TYPE) === true;
  const parser =
    isProtobuf && isMetadataOnly
      ? new ProtobufListParser(addObject, resource.isNeeded)
      : new JsonListParser(addObject, [{ apiVersion, kind }, ...(isMetadataOnly ? [METADATA] : [])], resource.wanted);
  await parseBody(response.body, parser, signal);
  return { path, resourceVersion: parser.end(), servedAt: readServedAt(response), itemCount: parser.itemCount };
}

function chooseMediaType({
  isMetadataOnly = false,
  isProtobuf,
}: Pick<AnyResource, 'isMetadataOnly' | 'isProtobuf'>): string | undefined {
  if (!isMetadataOnly) return undefined;
  return isProtobuf ? ACCEPT_PROTOBUF_LIST : ACCEPT_METADATA_LIST;
}

/** Every HTTP server with a clock sends the time (RFC 9110). A time in the future would end holds. */
function readServedAt({ headers: { date } }: ApiResponse): Date {
  const now = new Date();
  const servedAt = parseTime(date) ?? now;
  return servedAt < now ? servedAt : now;
}

async function parseBody(body: ApiResponse['body'], parser: ListParser, signal: AbortSignal): Promise<void> {
  let bytes = 0;
  // Stream events, because a promise for each chunk costs more than its parsing.
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    try {
      // The image exposes the collection (Containerfile).
      if (bytes % BYTES_PER_COLLECTION < chunk.length) globalThis.gc?.({ type: 'minor' });
      if (bytes > MAX_BYTES) throw new MalformedList(`the list is larger than ${formatMebibytes(MAX_BYTES)}`);
      parser.write(chunk);
      if (bytes % BYTES_PER_TURN >= chunk.length) return;
      parser.parse();
      body.pause();
      setImmediate(() => body.resume());
    } catch (error) {
      body.destroy(error as Error);
    }
  });
  try {
    await finished(body);
  } catch (error) {
    throw error instanceof Error && !('code' in error) && !signal.aborted ? error : toBodyError(error, signal);
  }
}
