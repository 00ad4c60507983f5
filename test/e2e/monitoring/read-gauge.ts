import { KubeClient } from '../control-plane/kube-client.ts';
import { readAuthority, SERVICE_NAME } from '../support/guard-service.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';

/** Scrapes a gauge without labels from the first replica, as an administrator. */
export async function readGauge(
  { cluster, controlPlane, replicas }: InstalledCluster,
  name: string,
): Promise<string | undefined> {
  const [address] = await replicas.listMetricsAddresses();
  const client = new KubeClient({
    ...controlPlane.apiServer.connection,
    url: `https://${address}`,
    ca: await readAuthority(cluster.admin),
    servername: SERVICE_NAME,
  });
  const { body } = await client.request('GET', '/metrics');
  return new RegExp(`^${name} (?<value>\\S+)$`, 'm').exec(String(body))?.groups?.['value'];
}
