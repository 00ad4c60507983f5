import { toPrintableLine } from '../decision/printable-text.ts';
import { ClusterAccessError, isInvalidSelector, isTimeout } from '../inspect/cluster-access.ts';
import { DryRunError } from '../inspect/trial-deletion.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { CliError, EXIT_CODE, type ExitCode } from './exit.ts';

const MAX_QUOTE_LENGTH = 200;

/** Explains an error of src/inspect. Other errors are bugs and stay as they are. */
export function toCliError(error: unknown, { address }: KubeApi): unknown {
  const explain = (message: string, exitCode: ExitCode = EXIT_CODE.cluster): CliError => {
    return new CliError(message, exitCode, { cause: error });
  };
  if (isTimeout(error)) return explain(`the API server at ${address} did not answer in time.`);
  if (error instanceof DryRunError) return explain(error.message);
  if (!(error instanceof ClusterAccessError)) return error;
  if (!isInvalidSelector(error)) return explain(formatAccessError(error, address));
  const reason = toPrintableLine((error.cause as ApiError).message, MAX_QUOTE_LENGTH);
  return explain(`--role and --selector do not make a label selector: ${reason}.`, EXIT_CODE.usage);
}

function formatAccessError({ access, cause }: ClusterAccessError, address: string): string {
  const { verb, resource, group, namespace } = access;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  if (!(cause instanceof ApiError)) {
    return `cannot ${verb} ${kind}${where}: ${toPrintableLine(describeError(cause), MAX_QUOTE_LENGTH)}.`;
  }
  const server = `the API server at ${address}`;
  const message = toPrintableLine(cause.message, MAX_QUOTE_LENGTH);
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
    default:
      return `${server} answered ${cause.status} to ${verb} ${kind}${where}: ${message}.`;
  }
}
