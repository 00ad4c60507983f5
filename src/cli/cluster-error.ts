import { toPrintableLine } from '../decision/printable-text.ts';
import { ClusterAccessError, isInvalidSelector, isTimeout } from '../inspect/cluster-access.ts';
import { DryRunError } from '../inspect/trial-deletion.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { CliError, EXIT_CODE, type ExitCode } from './exit.ts';

const MAX_QUOTE_LENGTH = 200;
/** Error codes of Node. */
const UNTRUSTED_CERTIFICATE = /UNABLE_TO_|SELF_SIGNED/;
const UNTRUSTED_ADVICE =
  'certificate signed by an unknown authority; check certificate-authority in the kubeconfig';

/** Explains errors of src/inspect. Returns others, which are bugs, unchanged. */
export function toCliError(error: unknown, { address }: KubeApi): unknown {
  const explain = (message: string, exitCode: ExitCode = EXIT_CODE.clusterAccess): CliError => {
    return new CliError(message, exitCode, { cause: error });
  };
  if (isTimeout(error)) return explain(`the API server at ${address} did not answer in time`);
  if (error instanceof DryRunError) return explain(error.message);
  if (!(error instanceof ClusterAccessError)) return error;
  if (!isInvalidSelector(error)) return explain(formatAccessError(error, address));
  const reason = toPrintableLine((error.cause as ApiError).message, MAX_QUOTE_LENGTH);
  return explain(`invalid label selector (--role, --selector): ${reason}`, EXIT_CODE.usage);
}

function formatAccessError({ access, cause }: ClusterAccessError, address: string): string {
  const { verb, resource, group, namespace } = access;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const location = namespace === undefined ? '' : ` in namespace ${namespace}`;
  if (!(cause instanceof ApiError)) {
    const reason = toPrintableLine(describeError(cause), MAX_QUOTE_LENGTH);
    return `cannot ${verb} ${kind}${location}: ${UNTRUSTED_CERTIFICATE.test(reason) ? UNTRUSTED_ADVICE : reason}`;
  }
  const server = `the API server at ${address}`;
  const message = toPrintableLine(cause.message, MAX_QUOTE_LENGTH);
  switch (cause.status) {
    case 401:
      return `${server} rejects the credentials of the kubeconfig; run oc login`;
    case 403: {
      // Roles for people (manifests/base/reader-roles.yaml). OpenShift's cluster-reader excludes MachineConfigs.
      const role = verb === 'delete' ? 'machineconfig-guard-verify' : 'machineconfig-guard-reader';
      const isInRole = resource === 'machineconfigs' && verb !== 'create';
      const roleNote = isInRole ? `, which the ClusterRole ${role} allows` : '';
      const checkCommand = `oc auth can-i ${verb} ${kind}${namespace === undefined ? '' : ` -n ${namespace}`}`;
      return `${server} denies you "${verb}" on ${kind}${location}${roleNote}; check with: ${checkCommand}`;
    }
    case 404:
      return (
        `${server} does not serve ${kind}: the cluster is not OpenShift, ` +
        'or the Machine Config Operator is not installed yet'
      );
    default:
      return `${server} answered ${cause.status} to ${verb} ${kind}${location}: ${message}`;
  }
}
