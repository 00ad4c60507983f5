import { ApiUnreachable, describeError } from '../kube/errors.ts';

/** A file of the kubeconfig is missing, or its exec plugin fails. The message contains no secrets. */
export class CredentialsError extends Error {
  readonly needsLogin: boolean;

  constructor(message: string, { needsLogin = false } = {}) {
    super(message);
    this.needsLogin = needsLogin;
  }
}

/** Codes of Node for a certificate that it does not trust. */
const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT_)/;

/** Whether a person must correct the kubeconfig or a certificate first. */
export function needsCorrection(error: unknown): boolean {
  const cause = error instanceof ApiUnreachable ? error.cause : undefined;
  return cause instanceof CredentialsError || UNTRUSTED.test(describeError(cause));
}
