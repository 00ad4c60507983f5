import type { KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

const NAMESPACE = `${PATHS.namespaces}/machineconfig-guard`;
const MONITOR = '/apis/monitoring.coreos.com/v1/namespaces/machineconfig-guard/servicemonitors/machineconfig-guard';
const CA_FILE = 'ca.crt';

interface Key {
  readonly name: string;
  readonly key: string;
}

interface Endpoint {
  readonly port: string;
  readonly path: string;
  readonly scheme: string;
  readonly authorization: { readonly credentials: Key };
  readonly tlsConfig: { readonly serverName: string; readonly ca: { readonly secret?: Key; readonly configMap?: Key } };
}

/** What Prometheus is told: how to scrape all pods, and the files that this names. */
export interface Scraping {
  readonly job: object;
  readonly files: Readonly<Record<string, string>>;
}

/** What the operator of Prometheus makes of the guard's ServiceMonitor, with a static list of the pods there are now. */
export async function scrapingOf(installed: InstalledCluster): Promise<Scraping> {
  const { admin } = installed.controlPlane.apiServer;
  const { spec } = (await admin.find(MONITOR)) as unknown as { spec: { endpoints: readonly [Endpoint] } };
  const [{ path, scheme, authorization, tlsConfig }] = spec.endpoints;
  const job = {
    metrics_path: path,
    scheme,
    authorization: { credentials: await tokenIn(installed, authorization.credentials) },
    tls_config: { ca_file: CA_FILE, server_name: tlsConfig.serverName },
    static_configs: installed.kubelet.pods.map(({ name, ports }) => ({
      targets: [`127.0.0.1:${ports?.metricsPort}`],
      labels: { pod: name },
    })),
  };
  return { job, files: { [CA_FILE]: await authorityIn(installed, tlsConfig.ca) } };
}

/** No controller fills such a Secret here: the token that it would hold. */
async function tokenIn({ controlPlane }: InstalledCluster, { name, key }: Key): Promise<string> {
  const { admin } = controlPlane.apiServer;
  const secret: (KubeObject & { type?: string }) | undefined = await admin.find(`${NAMESPACE}/secrets/${name}`);
  const account = secret?.metadata.annotations?.['kubernetes.io/service-account.name'];
  if (secret?.type !== 'kubernetes.io/service-account-token' || account === undefined || key !== 'token') {
    throw new Error(`The Secret ${name} would hold no token of a service account under ${key}.`);
  }
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await admin.create(`${NAMESPACE}/serviceaccounts/${account}/token`, request);
  return (status as { token: string }).token;
}

/** Waits for it: a ConfigMap is filled in by the service CA. */
function authorityIn({ controlPlane }: InstalledCluster, { secret, configMap }: Endpoint['tlsConfig']['ca']) {
  const { admin } = controlPlane.apiServer;
  const [kind, at] = secret === undefined ? ['configmaps', configMap] : ['secrets', secret];
  return until(
    'the authority that the ServiceMonitor names',
    async () => {
      const holder = (await admin.find(`${NAMESPACE}/${kind}/${at?.name}`)) as
        { data?: Readonly<Record<string, string>> } | undefined;
      const value = holder?.data?.[at?.key ?? ''];
      return secret === undefined || value === undefined ? value : Buffer.from(value, 'base64').toString();
    },
    { timeoutMs: 10_000 },
  );
}
