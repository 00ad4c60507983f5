import { until } from '../control-plane/until.ts';
import type { Cluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const MONITOR = '/apis/monitoring.coreos.com/v1/namespaces/machineconfig-guard/servicemonitors/machineconfig-guard';
const CA_FILE = 'ca.crt';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/machineconfig-guard/endpointslices';

interface Reference {
  readonly name: string;
  readonly key: string;
}

interface MonitorSpec {
  readonly endpoints: readonly [
    {
      readonly port: string;
      readonly path: string;
      readonly scheme: string;
      readonly authorization: { readonly credentials: Reference };
      readonly tlsConfig: { readonly serverName: string; readonly ca: { readonly configMap: Reference } };
    },
  ];
}

interface EndpointSlice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

/** Builds the scrape job of the guard's ServiceMonitor, as Prometheus Operator does, and its files. */
export async function buildScrapeJob(cluster: Cluster) {
  const { spec } = (await cluster.admin.find(MONITOR)) as unknown as { readonly spec: MonitorSpec };
  const [{ port, path, scheme, authorization, tlsConfig }] = spec.endpoints;
  const readKey = ({ name, key }: Reference, kind: string) => {
    const find = async () => (await cluster.admin.find(`${PATHS.guardNamespace}/${kind}/${name}`))?.data?.[key];
    return until(`the key ${key} of ${name}`, find);
  };
  const credentials = Buffer.from(await readKey(authorization.credentials, 'secrets'), 'base64');
  const job = {
    metrics_path: path,
    scheme,
    authorization: { credentials: credentials.toString() },
    tls_config: { ca_file: CA_FILE, server_name: tlsConfig.serverName },
    static_configs: [{ targets: await listTargets(cluster, port) }],
  };
  return { job, files: { [CA_FILE]: await readKey(tlsConfig.ca.configMap, 'configmaps') } };
}

/** The addresses behind a port of the Service. Debian's Prometheus cannot discover them. */
async function listTargets({ admin }: Cluster, name: string): Promise<readonly string[]> {
  const slices = (await admin.list(SLICES)) as readonly unknown[] as readonly EndpointSlice[];
  return slices.flatMap(({ endpoints, ports }) => {
    const port = ports.find((candidate) => candidate.name === name)?.port;
    return endpoints.flatMap(({ addresses }) => addresses.map((address) => `${address}:${port}`));
  });
}
