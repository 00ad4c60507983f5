import { pino } from 'pino';
import type { Authority } from '../certificates/authority.ts';
import type { KeyPair } from '../certificates/key-pair.ts';
import { issueLeaf } from '../certificates/leaf.ts';
import { createFixedCertificate } from '../certificates/serving-certificate.ts';
import { DEFAULT_SETTINGS } from '../decision/settings.ts';
import { type Guard, startGuard } from '../guard/guard.ts';
import { buildWebhookConfiguration } from '../install/webhook-configuration.ts';
import { KubeApi } from '../kube/api.ts';
import { connectionFromKubeconfig } from '../kube/connection.ts';
import type { AnswerListener } from '../webhook/admission-app.ts';
import { ApiServer } from './cluster/api-server.ts';
import { InMemoryCluster } from './cluster/in-memory-cluster.ts';

const HOST = '127.0.0.1';
const CERTIFICATE_DAYS = 1;
const READY_TIMEOUT_MS = 10_000;

/** A cluster in memory, and a client of its API server. */
export interface DemoCluster {
  readonly server: ApiServer;
  readonly api: KubeApi;
  /** Starts the real guard, and registers its webhook. */
  readonly addGuard: (onDecision: AnswerListener) => Promise<void>;
}

/** Starts an empty cluster, and stops it after the work. */
export async function withDemoCluster<Result>(
  authority: Authority,
  work: (cluster: DemoCluster) => Promise<Result>,
): Promise<Result> {
  const cluster = new InMemoryCluster();
  const leaf = await issueLocalLeaf(authority);
  const server = new ApiServer({ cluster, ca: authority.certificatePem, leaf });
  await server.start();
  const api = new KubeApi(connectionFromKubeconfig(server.createKubeconfig()));
  let guard: Guard | undefined;
  const addGuard = async (onDecision: AnswerListener): Promise<void> => {
    guard = await startRealGuard(api, leaf, onDecision);
    await guard.whenReady(AbortSignal.timeout(READY_TIMEOUT_MS));
    registerGuard(cluster, guard, authority);
  };
  try {
    return await work({ server, api, addGuard });
  } finally {
    await guard?.stop();
    api.close();
    await server.stop();
  }
}

/** For the API server and the guard. */
async function issueLocalLeaf(authority: Authority): Promise<KeyPair> {
  return await issueLeaf({ authority, dnsNames: [], ipAddresses: [HOST], days: CERTIFICATE_DAYS, now: new Date() });
}

async function startRealGuard(api: KubeApi, leaf: KeyPair, onDecision: AnswerListener): Promise<Guard> {
  return await startGuard({
    api,
    certificate: createFixedCertificate(leaf),
    // The guard would warn of the outage in the story.
    log: pino({ level: 'silent' }),
    bindAddress: HOST,
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs: 0,
    // The clean-up job deletes an unused config in the next minutes.
    settings: () => ({ ...DEFAULT_SETTINGS, holdSupersededMs: 0 }),
    onDecision,
  });
}

function registerGuard(cluster: InMemoryCluster, guard: Guard, authority: Authority): void {
  const url = `https://${HOST}:${guard.ports.securePort}/validate`;
  const caBundle = Buffer.from(authority.certificatePem).toString('base64');
  const configuration = buildWebhookConfiguration({ clientConfig: { url, caBundle }, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);
}
