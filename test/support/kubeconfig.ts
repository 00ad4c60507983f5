import { KubeConfig } from '@kubernetes/client-node';
import { KubeConnection } from '../../src/client/kube-connection.ts';
import { encodeBase64 } from '../../src/install/manifest.ts';

/**
 * A kubeconfig with one context, as JSON, which is valid YAML.
 * @param user credentials, and perhaps a user to impersonate
 * @param options `name` of the context, the cluster and the user. `ca`: PEM. `cluster`: more fields of the cluster.
 */
export function buildKubeconfig(
  server: string,
  user: object,
  { name = 'test', ca, cluster }: { readonly name?: string; readonly ca?: string; readonly cluster?: object } = {},
): string {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': encodeBase64(ca) };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, ...authority, ...cluster } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

export function connectionFromKubeconfig(text: string): KubeConnection {
  return new KubeConnection(() => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  });
}
