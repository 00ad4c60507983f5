import { ApiError, describeError, isRetryable } from '../kube/errors.ts';
import { type KubeApi } from '../kube/api.ts';
import { type AttemptedAccess, ClusterReadError } from '../inspect/cluster-reader.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/** The API server's own words are quoted up to here. */
const QUOTED_MAX = 200;

/**
 * One sentence about a cluster that could not be read, with the address and the permission that is missing. The exit code is
 * 3; 2 where the API server could not understand the label selector, which came from the command line. Other errors come
 * back as they are: they are ours.
 */
export function toCliError(error: unknown, { address }: KubeApi): unknown {
  if (isTimeout(error)) {
    return new CliError(`the API server at ${address} did not answer in time.`, EXIT_CODE.cluster, { cause: error });
  }
  if (!(error instanceof ClusterReadError)) return error;
  const { access, cause } = error;
  if (isInvalidSelectorError(error)) {
    const why = toPrintableLine((cause as ApiError).message, QUOTED_MAX);
    return new CliError(`--role and --selector do not make a label selector: ${why}.`, EXIT_CODE.usage, {
      cause: error,
    });
  }
  return new CliError(sentence(access, cause, address), EXIT_CODE.cluster, { cause: error });
}

/** May the same read succeed a moment later? */
export function isRetryableReadError(error: unknown): boolean {
  return isTimeout(error) || (error instanceof ClusterReadError && isRetryable(error.cause));
}

/** Is the kind not served (yet)? Early in an install the operator's definitions are missing for a while. */
export function isNotServedError(error: unknown): boolean {
  return error instanceof ClusterReadError && error.cause instanceof ApiError && error.cause.status === 404;
}

/** Will this command line never work, whatever the cluster does? */
export function isInvalidSelectorError(error: unknown): boolean {
  return error instanceof ClusterReadError && error.cause instanceof ApiError && error.cause.status === 400;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

function sentence({ verb, resource, group }: AttemptedAccess, cause: unknown, address: string): string {
  const kind = group === '' ? resource : `${resource}.${group}`;
  if (cause instanceof ApiError) {
    switch (cause.status) {
      case 401:
        return `the API server at ${address} does not accept the credentials of this kubeconfig; log in again (oc login).`;
      case 403:
        return `the API server at ${address} does not permit you to ${verb} ${kind}; the role cluster-reader does (check with: oc auth can-i ${verb} ${kind}).`;
      case 404:
        return `the API server at ${address} does not serve ${kind}: it is not OpenShift, or the Machine Config Operator is not installed yet.`;
      default:
        return `the API server at ${address} answered ${cause.status} to ${verb} ${kind}: ${toPrintableLine(cause.message, QUOTED_MAX)}.`;
    }
  }
  return `cannot ${verb} ${kind}: ${toPrintableLine(describeError(cause), QUOTED_MAX)}.`;
}
