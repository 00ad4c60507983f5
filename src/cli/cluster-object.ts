import { ApiError, type ClusterApi, reasonOf } from '../cluster/api.ts';
import { oneLine } from '../policy/line.ts';
import { CliError, EXIT } from './exit.ts';

const READ_MS = 10_000;

/** What somebody wants to do, in the words of `oc auth can-i`. */
export interface Wanted {
  readonly verb: 'get' | 'list' | 'delete' | 'patch';
  /** Plural, with its group where it has one. */
  readonly resource: string;
  readonly namespace?: string;
}

/** An object (or a list); undefined where there is none. Throws a CliError in one sentence for every other answer. */
export async function readObject(api: ClusterApi, path: string, wanted: Wanted, accept?: string): Promise<unknown> {
  try {
    const form = accept === undefined ? {} : { accept };
    return await api.json({ path, ...form, signal: AbortSignal.timeout(READ_MS) });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw clusterError(error, wanted, api);
  }
}

/** Says which permission is missing, or which address does not answer. */
export function clusterError(error: unknown, { verb, resource, namespace }: Wanted, { address }: ClusterApi): CliError {
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  const cause = { cause: error };
  if (error instanceof ApiError && error.status === 403) {
    const check = `oc auth can-i ${verb} ${resource}${namespace === undefined ? '' : ` -n ${namespace}`}`;
    return new CliError(
      `the API server at ${address} does not permit you to ${verb} ${resource}${where} (check with: ${check}).`,
      EXIT.cluster,
      cause,
    );
  }
  if (error instanceof ApiError && error.status === 401) {
    return new CliError(
      `the API server at ${address} does not accept the credentials of this kubeconfig; log in again (oc login).`,
      EXIT.cluster,
      cause,
    );
  }
  if (error instanceof ApiError && error.status === 404 && verb === 'list') {
    return new CliError(
      `the API server at ${address} does not serve ${resource}: it is not OpenShift, or the Machine Config Operator is not installed yet.`,
      EXIT.cluster,
      cause,
    );
  }
  if (error instanceof ApiError) {
    return new CliError(
      `the API server at ${address} answered ${error.status} to ${verb} ${resource}${where}: ${oneLine(error.message, 200)}.`,
      EXIT.cluster,
      cause,
    );
  }
  return new CliError(`cannot ${verb} ${resource}${where}: ${oneLine(reasonOf(error), 200)}.`, EXIT.cluster, cause);
}
