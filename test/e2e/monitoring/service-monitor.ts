import type { KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { serviceAccountToken } from '../support/service-account.ts';

const MONITOR =
  '/apis/monitoring.coreos.com/v1/namespaces/machineconfig-guard/servicemonitors/machineconfig-guard';
const CA_FILE = 'ca.crt';

interface Reference {
  readonly name: string;
  readonly key: string;
}

interface Endpoint {
  readonly path: string;
  readonly scheme: string;
  readonly authorization: { readonly credentials: Reference };
  readonly tlsConfig: { readonly serverName: string; readonly ca: { readonly configMap: Reference } };
}

/** Builds the scrape job of the guard's ServiceMonitor for the current pods, and its files. */
export async function buildScrapeJob({ cluster, kubelet }: InstalledCluster) {
  const { admin } = cluster;
  const { spec } = (await admin.find(MONITOR)) as unknown as { spec: { endpoints: readonly [Endpoint] } };
  const [{ path, scheme, authorization, tlsConfig }] = spec.endpoints;
  const { name, key } = tlsConfig.ca.configMap;
  const readAuthority = async () => {
    const configMap = await admin.find(`${PATHS.guardNamespace}/configmaps/${name}`);
    return (configMap as { data?: Readonly<Record<string, string>> } | undefined)?.data?.[key];
  };
  const authority = await until('the authority of the service CA', readAuthority);
  // Nothing here fills a Secret of this type.
  const secret: (KubeObject & { type?: string }) | undefined = await admin.find(
    `${PATHS.guardNamespace}/secrets/${authorization.credentials.name}`,
  );
  const account = secret?.metadata.annotations?.['kubernetes.io/service-account.name'];
  if (secret?.type !== 'kubernetes.io/service-account-token' || account === undefined) {
    throw new Error('The Secret of the ServiceMonitor would get no token.');
  }
  const credentials = await serviceAccountToken(admin, 'machineconfig-guard', account);
  const targets = kubelet.pods.map(({ ports }) => `127.0.0.1:${ports?.metricsPort}`);
  const job = {
    metrics_path: path,
    scheme,
    authorization: { credentials },
    tls_config: { ca_file: CA_FILE, server_name: tlsConfig.serverName },
    static_configs: [{ targets }],
  };
  return { job, files: { [CA_FILE]: authority } };
}
