import { toPrintableLine } from '../common/printable-text.ts';
import { ClusterAccessError } from './cluster-access.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, ApiUnreachable, CredentialsError, describeError, isTimeout } from '../kube/errors.ts';
import type { ClusterFlags } from './cluster-options.ts';
import { type Advice, advise, LOGIN_ADVICE } from './output/advice.ts';
import { CliError, EXIT_CODE, type ExitCode } from './exit.ts';

const MAX_QUOTE_LENGTH = 200;
/** The text of a policy can be a paragraph. */
const MAX_DENIAL_LENGTH = 1_000;
const CHECK_SERVER = 'check server in the kubeconfig, and the network';

/** Error codes of Node and OpenSSL, each with the reason and what to do. */
const CONNECTION_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED)/,
    'certificate signed by an unknown authority; check certificate-authority in the kubeconfig',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired; renew it, or correct the clock of this machine'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet; correct the clock of this machine'],
  [/^(?:EPROTO|ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH))/, `it does not use TLS; ${CHECK_SERVER}`],
  [/^ECONNREFUSED$/, `connection refused; ${CHECK_SERVER}`],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, `the host name cannot be resolved; ${CHECK_SERVER}`],
  [/^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, `no route or no answer; ${CHECK_SERVER}`],
  [/^(?:ECONNRESET|EPIPE)$/, `connection reset; ${CHECK_SERVER}`],
];

/** Explains errors of a cluster. Returns others, such as bugs, unchanged. */
export function toCliError(error: unknown, { address }: KubeApi, flags: ClusterFlags = {}): unknown {
  const server = `the API server at ${address}`;
  const explain = (message: string, exitCode: ExitCode = EXIT_CODE.clusterAccess, advice?: Advice): CliError => {
    return new CliError(message, exitCode, { cause: error, advice });
  };
  if (isTimeout(error)) return explain(`${server} did not answer in time`);
  if (!(error instanceof ClusterAccessError)) return error;
  if (isTimeout(error.cause)) return explain(`${server} did not answer in time; raise --request-timeout`);
  const { access, cause } = error;
  if (access.verb === 'list' && access.resource === 'nodes' && cause instanceof ApiError && cause.status === 400) {
    const reason = toPrintableLine(cause.message, MAX_QUOTE_LENGTH);
    return explain(`invalid label selector (--role, --selector): ${reason}`, EXIT_CODE.usage);
  }
  const { message, advice } = explainAccessError(error, server, flags);
  return explain(message, EXIT_CODE.clusterAccess, advice);
}

interface Explanation {
  readonly message: string;
  readonly advice?: Advice | undefined;
}

function explainAccessError({ access, cause }: ClusterAccessError, server: string, flags: ClusterFlags): Explanation {
  const { verb, resource, group, namespace } = access;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const target = namespace === undefined ? kind : `${kind} in namespace ${namespace}`;
  if (cause instanceof ApiUnreachable && cause.cause !== undefined) {
    const { message, advice } = explainConnectionError(cause.cause);
    return { message: `cannot connect to ${server}: ${message}`, advice };
  }
  if (!(cause instanceof ApiError)) {
    return { message: `cannot ${verb} ${target}: ${toPrintableLine(describeError(cause), MAX_QUOTE_LENGTH)}` };
  }
  if (isDeniedByAdmission(cause)) {
    return { message: `${server} denies ${verb} of ${target}: ${toPrintableLine(cause.message, MAX_DENIAL_LENGTH)}` };
  }
  switch (cause.status) {
    case 401:
      return { message: `${server} rejects the credentials of the kubeconfig`, advice: LOGIN_ADVICE };
    case 403: {
      const scope = namespace === undefined ? [] : ['-n', namespace];
      const users = flags.as === undefined ? [] : [`--as=${flags.as}`];
      // The API server names a subresource, or another right that the request needs, only in its message.
      const [, reason = ''] = /is forbidden: (.*)/.exec(cause.message) ?? [];
      const [right, subresource] = /cannot [a-z]+ resource "[^"/]+(?:\/([a-z]+))?"/.exec(reason) ?? [];
      const [place, part] =
        subresource === undefined ? ['', []] : [` (${subresource})`, [`--subresource=${subresource}`]];
      const quote = right === undefined && reason !== '' ? `: ${toPrintableLine(reason, MAX_QUOTE_LENGTH)}` : '';
      return {
        message: `${server} denies you "${verb}" on ${target}${place}${quote}`,
        advice: advise('check with', ['oc', 'auth', 'can-i', verb, kind, ...part, ...scope, ...users]),
      };
    }
    case 404: {
      const reason = 'the cluster is not OpenShift, or the Machine Config Operator is not installed yet';
      return { message: `${server} does not serve ${kind}: ${reason}` };
    }
    default: {
      const reason = toPrintableLine(cause.message, MAX_QUOTE_LENGTH);
      return { message: `${server} answered ${cause.status} to ${verb} ${target}: ${reason}` };
    }
  }
}

function explainConnectionError(error: unknown): Explanation {
  const reason = toPrintableLine(describeError(error), MAX_QUOTE_LENGTH);
  if (error instanceof CredentialsError) {
    return { message: reason, advice: error.needsLogin ? LOGIN_ADVICE : undefined };
  }
  if (reason !== 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return { message: CONNECTION_PROBLEMS.find(([code]) => code.test(reason))?.[1] ?? reason };
  }
  const { cert } = error as { readonly cert?: { readonly subjectaltname?: string } };
  const names = toPrintableLine(cert?.subjectaltname ?? 'none', MAX_QUOTE_LENGTH);
  return {
    message: `its certificate is for other names (${names}); correct server or tls-server-name in the kubeconfig`,
  };
}

/** The texts of the API server (kubernetes, staging/src/k8s.io/apiserver/pkg/admission/plugin). */
const ADMISSION_DENIAL =
  /admission webhook ".*" denied the request|ValidatingAdmissionPolicy '.*' with binding '.*' denied/s;

/** Whether a webhook or a policy denied the request. A missing right has the same status. */
export function isDeniedByAdmission(error: unknown): boolean {
  return error instanceof ApiError && ADMISSION_DENIAL.test(error.message);
}
