import { isTimeout } from '../common/wait.ts';
import { toPrintableLine } from '../common/printable-text.ts';
import { ClusterAccessError } from './cluster-access.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, ApiUnreachable, describeError, isRetryable } from '../kube/errors.ts';
import { CredentialsError } from './credentials-error.ts';
import { quote } from '../diagnosis/quote.ts';
import { shell, verbatim } from '../diagnosis/shell-command.ts';
import { type Advice, advise, LOGIN_ADVICE, toApplyCommand } from './output/advice.ts';
import { CliError, EXIT_CODE } from './exit.ts';

const NOT_INSTALLED =
  'the cluster is not OpenShift, is a hosted one (HyperShift), or has no Machine Config Operator yet';
const CHECK_SERVER = 'check the network, and server and proxy-url in the kubeconfig (HTTPS_PROXY has no effect)';
const RETRY_ADVICE = advise('retry; if it persists, check the kube-apiserver pods');
const STRANGER_ADVICE = advise(
  'retry; if it persists, a proxy or another server answers: check server and proxy-url in the kubeconfig',
);

/** Error codes of Node and OpenSSL, each with the reason and what to do. */
const CONNECTION_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED)/,
    'certificate signed by an unknown authority; check certificate-authority in the kubeconfig, or log in again',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired; renew it, or correct the clock of this machine'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet; correct the clock of this machine'],
  [/^(?:EPROTO|ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH))/, `it does not use TLS; ${CHECK_SERVER}`],
  // A SOCKS proxy gives no code, but a text.
  [/\bECONNREFUSED\b/, `connection refused; ${CHECK_SERVER}`],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, `the host name cannot be resolved; ${CHECK_SERVER}`],
  [/^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, `no route or no answer; ${CHECK_SERVER}`],
  [/^(?:ECONNRESET|EPIPE)$/, `connection reset; ${CHECK_SERVER}`],
];

/** What the manifests contain for a command: the role of its name, or that of all readers. */
export type CommandRole = 'reader' | 'restore' | 'verify';

/**
 * Explains an error of the API server. Returns every other error unchanged.
 * @param role the role that an administrator can bind if the user lacks a right. Undefined if there is none
 */
export function toCliError(error: unknown, { address }: Pick<KubeApi, 'address'>, role?: CommandRole): unknown {
  const server = `the API server at ${address}`;
  const explain = (message: string, advice?: Advice | readonly Advice[]) =>
    new CliError(message, EXIT_CODE.clusterAccess, { cause: error, advice });
  if (isTimeout(error)) return explain(`${server} did not answer in time`);
  if (!(error instanceof ClusterAccessError)) return error;
  const { access, cause } = error;
  const { verb, resource, group, namespace } = access;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const target = namespace === undefined ? kind : `${kind} in namespace ${namespace}`;
  if (isTimeout(cause))
    return explain(`${server} did not answer in time; check the kube-apiserver pods, or raise --request-timeout`);
  if (cause instanceof ApiUnreachable && cause.cause !== undefined) {
    const needsLogin = cause.cause instanceof CredentialsError && cause.cause.needsLogin;
    const reason = explainConnectionError(cause.cause);
    return explain(`cannot connect to ${server}: ${reason}`, needsLogin ? LOGIN_ADVICE : undefined);
  }
  if (!(cause instanceof ApiError)) {
    const advice = isRetryable(cause) ? STRANGER_ADVICE : undefined;
    return explain(`cannot ${verb} ${target}: ${quote(describeError(cause))}`, advice);
  }
  if (isDeniedByAdmission(cause))
    return explain(`${server} denies ${verb} of ${target}: ${toPrintableLine(cause.message)}`);
  const reason = quote(cause.message);
  switch (cause.status) {
    case 401:
      return explain(`${server} rejects the credentials of the kubeconfig`, LOGIN_ADVICE);
    case 403: {
      // The reason names the user, and a subresource or another right that the request needs.
      const denial = reason.replace(/^.*? is forbidden: /, '');
      const isImpersonation = denial.includes(' cannot impersonate ');
      const advice = isImpersonation ? [] : adviseRoles(role, access, denial);
      return explain(`${server} denies you "${verb}" on ${target}: ${denial}`, advice);
    }
    case 404:
      return explain(`${server} does not serve ${kind}: ${NOT_INSTALLED}`);
  }
  const answer = `${server} answered ${cause.status} to ${verb} ${target}: ${reason}`;
  if (isRetryable(cause)) return explain(answer, RETRY_ADVICE);
  return explain(answer, cause.status < 400 ? STRANGER_ADVICE : undefined);
}

/** For the progress of a command that waits. */
export function describeRetry(error: unknown, api: KubeApi): string {
  return `${(toCliError(error, api) as Error).message}; retrying`;
}

function adviseRoles(
  command: CommandRole | undefined,
  { verb, resource }: ClusterAccessError['access'],
  denial: string,
): readonly Advice[] {
  if (command === undefined) return [];
  const user = /^User "([^"]+)"/.exec(denial)?.[1] ?? 'USER';
  const role = `machineconfig-guard-${command}`;
  const bind = (name: string, kind = 'clusterrolebinding') => {
    // The command fails if a binding of another user has the name.
    const binding = `${name}-${user.replaceAll(/[^-\w:.@]/g, '-')}`;
    return shell`oc create ${kind} ${verbatim(binding)} --clusterrole=${name} --user=${verbatim(user)}`;
  };
  const ofReader = advise(
    'an administrator can bind the role of the readers, which the manifests of the guard contain',
    bind('machineconfig-guard-reader'),
  );
  if (command === 'reader') return [ofReader];
  const ofNode = `${role}-from-node`;
  // It allows commands as root on every node, so it is bound only in this namespace.
  const binding =
    resource === 'pods' ? shell`${bind(ofNode, 'rolebinding')} -n openshift-machine-config-operator` : bind(role);
  const apply = advise('an administrator can apply the role that has the right', toApplyCommand(`${command}-role`));
  const needsReader = command === 'verify' && verb !== 'delete';
  return [...(needsReader ? [ofReader] : []), apply, advise('bind it', binding)];
}

function explainConnectionError(error: unknown): string {
  const reason = quote(describeError(error));
  if (error instanceof CredentialsError || reason !== 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return CONNECTION_PROBLEMS.find(([code]) => code.test(reason))?.[1] ?? reason;
  }
  const { cert } = error as { readonly cert?: { readonly subjectaltname?: string } };
  const names = quote(cert?.subjectaltname ?? 'none');
  return `its certificate is for other names (${names}); correct server or tls-server-name in the kubeconfig`;
}

/** The texts of the API server (kubernetes, staging/src/k8s.io/apiserver/pkg/admission/plugin). */
const ADMISSION_DENIAL =
  /admission webhook ".*" denied the request|ValidatingAdmissionPolicy '.*' with binding '.*' denied/s;

/** Whether a webhook or a policy denied the request. A missing right has the same status. */
export function isDeniedByAdmission(error: unknown): boolean {
  return error instanceof ApiError && ADMISSION_DENIAL.test(error.message);
}
