import { ApiError, type ClusterApi, reasonOf } from '../cluster/api.ts';
import { type Access, ReadFailure } from '../cluster/inventory.ts';
import { mayPass } from '../cluster/list.ts';
import { oneLine } from '../policy/line.ts';
import { CliError, EXIT } from './exit.ts';

/** The API server's own words are quoted up to here. */
const QUOTED_MAX = 200;

/**
 * One sentence about a cluster that could not be read, with the address and the permission that is missing. The exit code is
 * 3; 2 where the API server could not understand the label selector, which came from the command line. Other errors come
 * back as they are: they are ours.
 */
export function clusterFailure(error: unknown, { address }: ClusterApi): unknown {
  if (isTimeout(error)) {
    return new CliError(`the API server at ${address} did not answer in time.`, EXIT.cluster, { cause: error });
  }
  if (!(error instanceof ReadFailure)) return error;
  const { access, cause } = error;
  if (isBadSelector(error)) {
    const why = oneLine((cause as ApiError).message, QUOTED_MAX);
    return new CliError(`--role and --selector do not make a label selector: ${why}.`, EXIT.usage, { cause: error });
  }
  return new CliError(sentence(access, cause, address), EXIT.cluster, { cause: error });
}

/** May the same read succeed a moment later? */
export function mayRecover(error: unknown): boolean {
  return isTimeout(error) || (error instanceof ReadFailure && mayPass(error.cause));
}

/** Is the kind not served (yet)? Early in an install the operator's definitions are missing for a while. */
export function isNotServedYet(error: unknown): boolean {
  return error instanceof ReadFailure && error.cause instanceof ApiError && error.cause.status === 404;
}

/** Will this command line never work, whatever the cluster does? */
export function isBadSelector(error: unknown): boolean {
  return error instanceof ReadFailure && error.cause instanceof ApiError && error.cause.status === 400;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

function sentence({ verb, resource, group }: Access, cause: unknown, address: string): string {
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
        return `the API server at ${address} answered ${cause.status} to ${verb} ${kind}: ${oneLine(cause.message, QUOTED_MAX)}.`;
    }
  }
  return `cannot ${verb} ${kind}: ${oneLine(reasonOf(cause), QUOTED_MAX)}.`;
}
