import { finished } from 'node:stream/promises';
import { type ApiObject, parseTime } from '../api-object.ts';
import { parseCollection } from '../api-paths.ts';
import { type ApiResponse, type KubeApi, readText, toBodyError } from '../api.ts';
import { isServed } from '../discovery.ts';
import { ApiUnreachable, isNotFound, MalformedList } from '../errors.ts';
import { acceptHeaderForStreamedList, PROTOBUF_MEDIA_TYPE, type Resource, toListPath } from '../resource.ts';
import { inSlices } from '../../common/slices.ts';
import { METADATA, type ObjectType, parseJsonList } from './json-list.ts';
import { ProtobufListParser } from './protobuf-list.ts';

type AnyResource = Omit<Resource<{ readonly name: string }>, 'parse'>;

/** How many objects of a JSON list are handled before other work runs. */
const SLICE_SIZE = 200;
/** The same of protobuf. A connection can deliver 2 MiB at once, and parsing them takes 15 ms. */
const BYTES_PER_TURN = 256 * 1024;

export interface ListResult {
  /** The collection that was listed. */
  readonly path: string;
  readonly resourceVersion: string;
  /** By the clock of the API server, in whole seconds. */
  readonly servedAt: Date;
}

/**
 * Lists a resource without resourceVersion, so the list contains every write that was acknowledged before the
 * request, and without limit, because the API server serves only unpaged consistent lists from its watch
 * cache.
 *
 * @returns undefined if the resource is optional and the cluster does not serve it
 * @throws ApiError, ApiUnreachable, MalformedList, MalformedObject, or the signal's reason
 */
export async function listResource(
  api: KubeApi,
  resource: AnyResource,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<ListResult | undefined> {
  for (const [index, path] of resource.paths.entries()) {
    try {
      return await listCollection(api, path, resource, onObject, signal);
    } catch (error) {
      const isLast = index === resource.paths.length - 1;
      if (!isNotFound(error) || (isLast && !resource.isOptional)) throw error;
      if (await isServed(api, path, signal)) {
        throw new ApiUnreachable(`listing ${resource.name} returned 404 although discovery serves the resource`);
      }
    }
  }
  return undefined;
}

/**
 * Lists one collection and calls `onObject` for each object. A list of another kind is malformed, because
 * without the fields of this kind its objects would look unreferenced.
 *
 * @param query extra parameters, such as a label selector
 * @throws like {@link listResource}
 */
export async function listCollection(
  api: KubeApi,
  path: string,
  resource: Pick<AnyResource, 'kind' | 'isMetadataOnly' | 'annotations'>,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
  query: Readonly<Record<string, string>> = {},
): Promise<ListResult> {
  const { kind, isMetadataOnly } = resource;
  const { apiVersion, isNamespaced } = parseCollection(path);
  const response = await api.request({
    path: toListPath(path, query),
    accept: acceptHeaderForStreamedList(isMetadataOnly),
    signal,
  });
  // Metadata does not state its kind. But no object of a cluster-wide kind has a namespace.
  const addObject = (object: ApiObject): void => {
    if (!isNamespaced && (object.metadata?.namespace ?? '') !== '')
      throw new MalformedList(`an item of the list has a namespace, unlike a ${kind}`);
    onObject(object);
  };
  // Every HTTP server with a clock sends the time (RFC 9110).
  const servedAt = parseTime(response.headers.date) ?? new Date();
  const isProtobuf = response.headers['content-type']?.startsWith(PROTOBUF_MEDIA_TYPE) === true;
  if (isProtobuf && isMetadataOnly) {
    const parser = new ProtobufListParser(addObject, resource);
    await parseBody(response.body, parser, signal);
    return { path, resourceVersion: parser.end(), servedAt };
  }
  const types: readonly ObjectType[] = [{ apiVersion, kind }, ...(isMetadataOnly ? [METADATA] : [])];
  const { items, resourceVersion } = parseJsonList(await readText(response, signal), types);
  for await (const slice of inSlices(items, SLICE_SIZE)) for (const item of slice) addObject(item);
  return { path, resourceVersion, servedAt };
}

async function parseBody(body: ApiResponse['body'], parser: ProtobufListParser, signal: AbortSignal): Promise<void> {
  let bytesInTurn = 0;
  // Stream events, because a promise for each chunk costs more than its parsing.
  body.on('data', (chunk: Buffer) => {
    bytesInTurn += chunk.length;
    if (bytesInTurn >= BYTES_PER_TURN) {
      bytesInTurn = 0;
      body.pause();
      setImmediate(() => body.resume());
    }
    try {
      parser.write(chunk);
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
