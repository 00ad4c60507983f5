import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Settings } from '../../../src/decision/settings.ts';
import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import type { Binaries } from '../control-plane/binaries.ts';
import { ControlPlane, kubeconfig, type ApiServer } from '../control-plane/control-plane.ts';
import { KubeClient } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { awaitGuardCalls, unique, type ClusterConnection } from './cluster.ts';
import { readJsonLines, startGuardProcess, type Launch } from './guard-process.ts';
import { issueGuardToken } from './guard-token.ts';
import { kubectlOk } from './kubectl.ts';
import { MANIFESTS } from './overlays.ts';
import { PATHS } from './paths.ts';
import { createServiceAccount } from './service-account.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { startThrottlingProxy } from './throttling-proxy.ts';

const NAMESPACE = 'machineconfig-guard';
/** The guard's user name in the API server. */
export const GUARD_USER = `system:serviceaccount:${NAMESPACE}:machineconfig-guard`;

/** Prepares a launch of the guard. It may put files into this folder. */
export type LaunchPreparation = (directory: string) => Promise<Launch>;

export type GuardedCluster = Awaited<ReturnType<typeof startGuardedCluster>>;

/**
 * Starts a control plane and one guard process with the rights of its manifests, and returns when the API
 * server calls the guard. The guard reaches the API server through `network` and `throttle`, so that both can
 * fail.
 *
 * @param options `direct: true` connects the guard to the API server without proxies, for measurements
 */
export async function startGuardedCluster(binaries: Binaries, { direct = false } = {}) {
  const controlPlane = await ControlPlane.start(binaries);
  try {
    return await addGuard(controlPlane, direct);
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

async function addGuard(controlPlane: ControlPlane, direct: boolean) {
  const { apiServer, caCertificate, directory, reaper } = controlPlane;
  await kubectlOk(controlPlane, ['create', 'namespace', NAMESPACE]);
  await kubectlOk(controlPlane, ['create', '--filename', join(MANIFESTS, 'base', 'rbac.yaml')]);
  const token = await issueGuardToken(apiServer.admin, join(directory, 'guard.token'));
  const throttle = await startThrottlingProxy(apiServer.url, caCertificate);
  const network = await TcpProxy.start(throttle.port);
  const url = direct ? apiServer.url : `https://127.0.0.1:${network.port}`;
  const file = join(directory, 'guard.kubeconfig');
  await writeFile(file, kubeconfig(url, direct ? caCertificate : throttle.ca, { tokenFile: token.file }));
  const guard = await startGuardProcess(file, directory, reaper);
  const caBundle = Buffer.from(guard.ca).toString('base64');
  const clientConfig = { url: guard.url, caBundle };
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  await apiServer.admin.create(PATHS.webhookConfigurations, configuration);
  await awaitGuardCalls(apiServer.admin);
  const scraperRules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  const scraperToken = await createServiceAccount(apiServer.admin, unique('scraper'), scraperRules);
  const scraper = new KubeClient({ url: guard.metricsUrl, ca: guard.ca, token: scraperToken });
  const connection: ClusterConnection = { admin: apiServer.connection, auditLog: apiServer.auditLog };
  /** The value of a metric, or undefined. The guard needs the API server to check the token. */
  const readSample = async (name: string) => {
    const read = async () => {
      const { status, body } = await scraper.request('GET', '/metrics');
      return status === 200 && String(body);
    };
    const metrics = await until("the guard's metrics", read, { timeoutMs: 60_000 });
    const sample = metrics.split('\n').find((line) => line.startsWith(`${name} `));
    return sample === undefined ? undefined : Number(sample.slice(name.length));
  };
  let secondApiServer: Promise<ApiServer> | undefined;
  let lastPreparation: LaunchPreparation | undefined;
  return {
    controlPlane,
    network,
    throttle,
    token,
    guard,
    /** The guard's kubeconfig. */
    kubeconfig: file,
    connection,

    /** A second API server, which calls the guard, too. The guard never reads from it. */
    secondApiServer() {
      secondApiServer ??= controlPlane.startApiServer().then(async (second) => {
        await awaitGuardCalls(second.admin);
        return second;
      });
      return secondApiServer;
    },

    /** Restarts the guard with this launch, or with the usual one, unless it already runs so. */
    async launchGuard(prepare?: LaunchPreparation) {
      if (prepare === lastPreparation) return;
      await guard.restart(await prepare?.(directory));
      lastPreparation = prepare;
    },

    /** Creates a MachineConfigGuard without a hold. Without its CRD, the guard holds configs for 2 h. */
    async switchHoldOff() {
      await kubectlOk(controlPlane, ['create', '--filename', join(MANIFESTS, 'base', 'crd.yaml')]);
      const settings = {
        apiVersion: 'machineconfig-guard.io/v1alpha1',
        kind: 'MachineConfigGuard',
        metadata: { name: 'cluster' },
        spec: { holdSuperseded: '0s' },
      };
      // The guard may create it first.
      const create = async () =>
        [201, 409].includes((await apiServer.admin.request('POST', dirname(PATHS.guard), settings)).status);
      await until('the MachineConfigGuard', create);
      await apiServer.admin.patch(PATHS.guard, { spec: settings.spec });
      const isApplied = async () =>
        (await readJsonLines<Partial<Settings>>(guard.log)).some((line) => line.holdSupersededMs === 0);
      await until('the guard without a hold', isApplied);
    },

    /** The value of a series, or 0 without one. */
    async readMetric(series: string) {
      return (await readSample(series)) ?? 0;
    },

    async stop() {
      await network.refuse();
      throttle.stop();
      await controlPlane.stop();
    },
  };
}
