import { pino } from 'pino';
import { createAuthority, issueLeaf } from '../../src/certificates/authority.ts';
import { ServingCertificate } from '../../src/certificates/key-pair.ts';
import { DEFAULT_SETTINGS } from '../../src/api/settings.ts';
import { type Guard, startGuard } from '../../src/guard/guard.ts';
import { buildWebhookConfiguration } from '../support/webhook-configuration.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { ApiServer } from '../support/in-memory-cluster/api-server.ts';
import { connectionFromKubeconfig } from '../support/kubeconfig.ts';
import { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';

const HOST = '127.0.0.1';
const READY_TIMEOUT_MS = 10_000;

/** Starts an empty cluster, perhaps with the real guard, and stops both after the work. */
export async function withDemoCluster<Result>(
  isGuarded: boolean,
  work: (api: KubeApi, cluster: InMemoryCluster) => Promise<Result>,
): Promise<Result> {
  const validity = { days: 1, now: new Date() };
  const authority = await createAuthority(validity);
  const leaf = await issueLeaf({ authority, dnsNames: [], ipAddresses: [HOST], ...validity });
  const ca = authority.certificatePem;
  const cluster = new InMemoryCluster();
  const server = new ApiServer({ cluster, ca, leaf });
  await server.start();
  const api = new KubeApi(connectionFromKubeconfig(server.createKubeconfig()));
  let guard: Guard | undefined;
  try {
    if (isGuarded) {
      guard = await startGuard({
        api,
        certificate: new ServingCertificate(leaf),
        log: pino({ level: 'silent' }),
        bindAddress: HOST,
        securePort: 0,
        healthPort: 0,
        shutdownDelayMs: 0,
        // The clean-up job deletes an unused config in the next minutes.
        settings: { settings: { ...DEFAULT_SETTINGS, holdSupersededMs: 0 } },
      });
      await guard.whenReady(AbortSignal.timeout(READY_TIMEOUT_MS));
      const url = `https://${HOST}:${guard.ports.securePort}/validate`;
      const clientConfig = { url, caBundle: Buffer.from(ca).toString('base64') };
      const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
      cluster.create('validatingwebhookconfigurations', configuration);
    }
    return await work(api, cluster);
  } finally {
    await guard?.stop();
    api.close();
    await server.stop();
  }
}
