import { pino } from 'pino';
import type { Authority } from '../certificates/authority.ts';
import { issueLeaf } from '../certificates/leaf.ts';
import { createFixedCertificate } from '../certificates/serving-certificate.ts';
import { DEFAULT_SETTINGS } from '../decision/settings.ts';
import { type Guard, startGuard } from '../guard/guard.ts';
import { buildWebhookConfiguration } from '../install/webhook-configuration.ts';
import { KubeApi } from '../kube/api.ts';
import { connectionFromKubeconfig } from '../kube/connection.ts';
import type { AnswerListener } from '../webhook/admission-app.ts';
import { type ApiServer, startApiServer } from './cluster/api-server.ts';
import { ADMIN_USER, InMemoryCluster } from './cluster/in-memory-cluster.ts';

const GUARD_USER = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';
const OPERATOR_USER = 'system:serviceaccount:openshift-machine-config-operator:machine-config-controller';
const CLEAN_UP_USER = 'system:serviceaccount:cluster-cleanup:rendered-config-cleanup';
const HOST = '127.0.0.1';
const CERTIFICATE_DAYS = 1;
const READY_TIMEOUT_MS = 10_000;

/** A cluster in memory, and clients of its API server. */
export interface DemoCluster {
  readonly server: ApiServer;
  readonly adminApi: KubeApi;
  readonly operatorApi: KubeApi;
  readonly cleanUpApi: KubeApi;
  /** Starts the real guard, and registers its webhook. */
  readonly addGuard: (onDecision: AnswerListener) => Promise<void>;
}

/** Starts an empty cluster, and stops it after the work. */
export async function withDemoCluster<Result>(
  authority: Authority,
  work: (cluster: DemoCluster) => Promise<Result>,
): Promise<Result> {
  const cluster = new InMemoryCluster();
  const server = await startApiServer(cluster, authority);
  const clients: KubeApi[] = [];
  const connectAs = (user: string): KubeApi => {
    const api = new KubeApi(connectionFromKubeconfig(server.kubeconfigFor(user)));
    clients.push(api);
    return api;
  };
  let guard: Guard | undefined;
  const addGuard = async (onDecision: AnswerListener): Promise<void> => {
    guard = await startRealGuard(connectAs(GUARD_USER), authority, onDecision);
    await guard.whenReady(AbortSignal.timeout(READY_TIMEOUT_MS));
    registerGuard(cluster, guard, authority);
  };
  const [adminApi, operatorApi, cleanUpApi] = [ADMIN_USER, OPERATOR_USER, CLEAN_UP_USER].map(connectAs) as [
    KubeApi,
    KubeApi,
    KubeApi,
  ];
  try {
    return await work({ server, adminApi, operatorApi, cleanUpApi, addGuard });
  } finally {
    await guard?.stop();
    for (const api of clients) api.close();
    await server.stop();
  }
}

async function startRealGuard(api: KubeApi, authority: Authority, onDecision: AnswerListener): Promise<Guard> {
  const names = { dnsNames: [], ipAddresses: [HOST] };
  const leaf = await issueLeaf({ authority, ...names, days: CERTIFICATE_DAYS, now: new Date() });
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
