import { KubeClient, type KubeObject } from '../control-plane/kube-client.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

type Webhooks = KubeObject & {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle: string } }[];
};

/** Scrapes a gauge without labels from the first replica, as an administrator. */
export async function readGauge(
  { cluster, controlPlane, replicas }: InstalledCluster,
  name: string,
): Promise<string | undefined> {
  const [address] = await replicas.listMetricsAddresses();
  const { webhooks } = (await cluster.admin.find(PATHS.guardWebhook)) as Webhooks;
  const client = new KubeClient({
    ...controlPlane.apiServer.connection,
    url: `https://${address}`,
    ca: Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString(),
    servername: 'machineconfig-guard.machineconfig-guard.svc',
  });
  const { body } = await client.request('GET', '/metrics');
  return new RegExp(`^${name} (?<value>\\S+)$`, 'm').exec(String(body))?.groups?.['value'];
}
