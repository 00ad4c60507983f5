/** What a client needs to reach the sandbox. */
export interface KubeconfigFields {
  readonly server: string;
  /** The authority of the server's certificate, PEM. */
  readonly certificateAuthorityPem: string;
  /** Undefined: the client stays anonymous. */
  readonly token: string | undefined;
}

/** A kubeconfig with one cluster, user and context, all named `sandbox`. JSON, which every YAML parser reads. */
export function kubeconfig({ server, certificateAuthorityPem, token }: KubeconfigFields): string {
  const name = 'sandbox';
  return JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name,
          cluster: {
            server,
            'certificate-authority-data': Buffer.from(certificateAuthorityPem).toString('base64'),
          },
        },
      ],
      users: [{ name, user: token === undefined ? {} : { token } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    },
    null,
    2,
  );
}
