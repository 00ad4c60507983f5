import { quote } from '../diagnosis/quote.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { ApiError } from '../kube/errors.ts';
import { accessCluster } from './cluster-access.ts';
import { CliError, EXIT_CODE } from './exit.ts';

export interface Write {
  readonly method: 'DELETE' | 'PATCH' | 'POST';
  readonly path: string;
  readonly body: { readonly metadata?: object; readonly [field: string]: unknown };
  /** The API server answers with a conflict if the object has another version, such as when a person has changed it. */
  readonly resourceVersion?: string;
}

const VERBS = { DELETE: 'delete', PATCH: 'patch', POST: 'create' } as const;
const NONEXISTENT_NAME = 'machineconfig-guard-dry-run';

export function toDeletion(path: string, uid: string): Write {
  const options = { propagationPolicy: 'Background', preconditions: { uid } };
  return { method: 'DELETE', path, body: { apiVersion: 'v1', kind: 'DeleteOptions', ...options } };
}

/** The `dryRun` `All` writes nothing. The API server rejects every other text. */
export async function sendWrite(
  api: KubeApi,
  { method, path, body, resourceVersion }: Write,
  { dryRun, signal }: { readonly dryRun?: string; readonly signal: AbortSignal },
) {
  const isDryRun = dryRun !== undefined;
  // Nothing is written in a dry run, so no change can be lost.
  const isVersioned = resourceVersion !== undefined && !isDryRun;
  const request = {
    method,
    path: isDryRun ? `${path}${path.includes('?') ? '&' : '?'}dryRun=${dryRun}` : path,
    body: {
      ...body,
      ...(isVersioned && { metadata: { ...body.metadata, resourceVersion } }),
      // For a deletion, the API server reads the query only if it gets no body.
      ...(isDryRun && method === 'DELETE' && { dryRun: [dryRun] }),
    },
    ...(method === 'PATCH' && { contentType: MERGE_PATCH }),
    signal,
  };
  await accessCluster(VERBS[method], path, signal, () => api.json(request));
}

/**
 * Sends a write that changes nothing, with an invalid `dryRun`. The API server answers 422 if it reads `dryRun`
 * (k8s.io/apiserver, endpoints/handlers). A proxy that removes it would turn a dry run into a write.
 */
export async function assertDryRunIsHonored(api: KubeApi, write: Pick<Write, 'method' | 'path'>, signal: AbortSignal) {
  const { method, path } = write;
  const target = method === 'DELETE' ? path.replace(/[^/]*$/, NONEXISTENT_NAME) : path;
  let answer = 'a success';
  try {
    await sendWrite(api, { method, path: target, body: {} }, { dryRun: 'Invalid', signal });
  } catch (error) {
    const { cause } = error as Error;
    if (!(cause instanceof ApiError) || ![400, 404, 409, 422].includes(cause.status)) throw error;
    if (cause.status === 422 && cause.message.includes('dryRun')) return;
    answer = `${cause.status} ${quote(cause.message)}`;
  }
  throw new CliError(
    `the API server at ${api.address} (or a proxy in front of it) does not honor dry runs: ` +
      `it answered ${answer} instead of 422`,
    EXIT_CODE.clusterAccess,
  );
}
