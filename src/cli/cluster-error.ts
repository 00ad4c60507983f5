import { toPrintableLine } from '../decision/printable-text.ts';
import { ClusterAccessError, isInvalidSelector, isTimeout } from '../inspect/cluster-access.ts';
import { DryRunError } from '../inspect/trial-deletion.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { CliError, EXIT_CODE } from './exit.ts';

const MAX_QUOTE_LENGTH = 200;

/**
 * Turns an error of src/inspect into a sentence with the address and the missing permission. The exit code is 3, or 2
 * for an invalid label selector. Other errors are bugs and stay as they are.
 */
export function toCliError(error: unknown, { address }: KubeApi): unknown {
  const options = { cause: error };
  if (isInvalidSelector(error)) {
    const reason = toPrintableLine(((error as ClusterAccessError).cause as ApiError).message, MAX_QUOTE_LENGTH);
    const message = `--role and --selector do not make a label selector: ${reason}.`;
    return new CliError(message, EXIT_CODE.usage, options);
  }
  if (isTimeout(error)) {
    return new CliError(`the API server at ${address} did not answer in time.`, EXIT_CODE.cluster, options);
  }
  if (error instanceof DryRunError) return new CliError(error.message, EXIT_CODE.cluster, options);
  return error instanceof ClusterAccessError
    ? new CliError(formatAccessError(error, address), EXIT_CODE.cluster, options)
    : error;
}

function formatAccessError({ access, cause }: ClusterAccessError, address: string): string {
  const { verb, resource, group, namespace } = access;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  if (!(cause instanceof ApiError)) {
    return `cannot ${verb} ${kind}${where}: ${toPrintableLine(describeError(cause), MAX_QUOTE_LENGTH)}.`;
  }
  const server = `the API server at ${address}`;
  switch (cause.status) {
    case 401:
      return `${server} does not accept the credentials of this kubeconfig; log in again (oc login).`;
    case 403: {
      const isInClusterReader = verb !== 'delete' && (kind === 'nodes' || group === MCO_GROUP);
      const role = isInClusterReader ? '; the role cluster-reader does' : '';
      const check = `oc auth can-i ${verb} ${kind}${namespace === undefined ? '' : ` -n ${namespace}`}`;
      return `${server} does not permit you to ${verb} ${kind}${where}${role} (check with: ${check}).`;
    }
    case 404:
      return (
        `${server} does not serve ${kind}: it is not OpenShift, ` +
        'or the Machine Config Operator is not installed yet.'
      );
    default: {
      const message = toPrintableLine(cause.message, MAX_QUOTE_LENGTH);
      return `${server} answered ${cause.status} to ${verb} ${kind}${where}: ${message}.`;
    }
  }
}
