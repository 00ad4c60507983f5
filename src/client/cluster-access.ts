import { isTimeout, NEVER_ABORTED } from '../common/wait.ts';
import type { KubeApi } from '../kube/api.ts';
import { MalformedObject } from '../kube/api-object.ts';
import {
  ApiError,
  ApiUnreachable,
  isNotFound,
  isRetryable,
  MalformedList,
  orUndefined,
  UnsupportedVersion,
} from '../kube/errors.ts';
import { needsCorrection } from './credentials-error.ts';

type Verb = 'create' | 'delete' | 'get' | 'list' | 'patch';

const PATH = /^\/(?:api|apis\/(?<group>[^/]+))\/[^/]+(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[^/?]+)/;
const ACCESS_FAILURES = [ApiError, ApiUnreachable, MalformedList, MalformedObject, UnsupportedVersion];
/** Of a request. kube-apiserver itself ends one after 60 s. */
export const READ_TIMEOUT_MS = 30_000;

export class ClusterAccessError extends Error {
  override readonly name = 'ClusterAccessError';
  readonly access: Readonly<{ verb: Verb; resource: string; group: string; namespace: string | undefined }>;

  constructor(verb: Verb, path: string, cause: unknown) {
    const target = parsePath(path);
    super(`cannot ${verb} ${target.resource}`, { cause });
    this.access = { verb, ...target };
  }
}

/** The core group is empty. The resource of another path, such as `/version`, is the path. */
export function parsePath(path: string) {
  const { resource = path, group = '', namespace } = PATH.exec(path)?.groups ?? {};
  return { resource, group, namespace };
}

export async function accessCluster<T>(verb: Verb, path: string, signal: AbortSignal, send: () => Promise<T>) {
  try {
    return await send();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // Any other error is a defect of this program.
    const isFailure = isTimeout(error) || ACCESS_FAILURES.some((type) => error instanceof type);
    throw isFailure ? new ClusterAccessError(verb, path, error) : error;
  }
}

/** An empty list of an old API server is null. */
export interface StoredList<Item> {
  readonly items?: readonly Item[] | null;
}

/** @throws ClusterAccessError, or the signal's reason; a 404 returns undefined */
export async function readObject<Stored>(
  api: KubeApi,
  path: string,
  verb: Verb = 'get',
  signal = NEVER_ABORTED,
  accept?: string,
): Promise<Stored | undefined> {
  const send = () => orUndefined(api.json({ path, accept, signal }));
  return (await accessCluster(verb, path, signal, send)) as Stored | undefined;
}

export function isRetryableRead(error: unknown): boolean {
  if (!(error instanceof ClusterAccessError)) return isTimeout(error);
  return isRetryable(error.cause) && !needsCorrection(error.cause);
}

/** Early in an install the operator's CRDs are missing. */
export function isNotServed(error: unknown): boolean {
  return error instanceof ClusterAccessError && isNotFound(error.cause);
}

export function hasAnswered(error: unknown): error is ClusterAccessError & { readonly cause: ApiError } {
  return error instanceof ClusterAccessError && error.cause instanceof ApiError;
}

/** Undefined without the right to the read. */
export async function orForbidden<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (hasAnswered(error) && error.cause.status === 403) return undefined;
    throw error;
  }
}
