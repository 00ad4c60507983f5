import { KubeClient } from '../control-plane/kube-client.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { buildScrapeJob } from './service-monitor.ts';

/** Scrapes a gauge without labels from the first replica. */
export async function readGauge(installed: InstalledCluster, name: string): Promise<string | undefined> {
  const { job, files } = await buildScrapeJob(installed);
  const client = new KubeClient({
    url: `https://${job.static_configs[0]?.targets[0]}`,
    ca: Object.values(files).join('\n'),
    servername: job.tls_config.server_name,
    token: job.authorization.credentials,
  });
  const { body } = await client.request('GET', '/metrics');
  return new RegExp(`^${name} (?<value>\\S+)$`, 'm').exec(String(body))?.groups?.['value'];
}
