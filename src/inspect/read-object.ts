import { ApiError, describeError } from '../kube/errors.ts';
import { type KubeApi } from '../kube/api.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import { CliError, EXIT_CODE } from '../cli/exit.ts';

const READ_MS = 10_000;

/** What somebody wants to do, in the words of `oc auth can-i`. */
export interface ObjectAccess {
  readonly verb: 'get' | 'list' | 'delete' | 'patch';
  /** Plural, with its group where it has one. */
  readonly resource: string;
  readonly namespace?: string;
}

/** An object (or a list); undefined where there is none. Throws a CliError in one sentence for every other answer. */
export async function readObject(api: KubeApi, path: string, wanted: ObjectAccess, accept?: string): Promise<unknown> {
  try {
    const form = accept === undefined ? {} : { accept };
    return await api.json({ path, ...form, signal: AbortSignal.timeout(READ_MS) });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw toReadError(error, wanted, api);
  }
}

/** Says which permission is missing, or which address does not answer. */
export function toReadError(
  error: unknown,
  { verb, resource, namespace }: ObjectAccess,
  { address }: KubeApi,
): CliError {
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  const cause = { cause: error };
  if (error instanceof ApiError && error.status === 403) {
    const check = `oc auth can-i ${verb} ${resource}${namespace === undefined ? '' : ` -n ${namespace}`}`;
    return new CliError(
      `the API server at ${address} does not permit you to ${verb} ${resource}${where} (check with: ${check}).`,
      EXIT_CODE.cluster,
      cause,
    );
  }
  if (error instanceof ApiError && error.status === 401) {
    return new CliError(
      `the API server at ${address} does not accept the credentials of this kubeconfig; log in again (oc login).`,
      EXIT_CODE.cluster,
      cause,
    );
  }
  if (error instanceof ApiError && error.status === 404 && verb === 'list') {
    return new CliError(
      `the API server at ${address} does not serve ${resource}: it is not OpenShift, or the Machine Config Operator is not installed yet.`,
      EXIT_CODE.cluster,
      cause,
    );
  }
  if (error instanceof ApiError) {
    return new CliError(
      `the API server at ${address} answered ${error.status} to ${verb} ${resource}${where}: ${toPrintableLine(error.message, 200)}.`,
      EXIT_CODE.cluster,
      cause,
    );
  }
  return new CliError(
    `cannot ${verb} ${resource}${where}: ${toPrintableLine(describeError(error), 200)}.`,
    EXIT_CODE.cluster,
    cause,
  );
}
