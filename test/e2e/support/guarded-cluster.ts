import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { parseAllDocuments } from 'yaml';

import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import type { Binaries } from '../control-plane/binaries.ts';
import { ControlPlane, kubeconfig, type ApiServer } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { awaitGuardCalls, type ClusterConnection } from './cluster.ts';
import { GuardProcess, type Launch } from './guard-process.ts';
import { GuardToken } from './guard-token.ts';
import { MetricsClient } from './metrics-client.ts';
import { MANIFESTS } from './overlays.ts';
import { PATHS } from './paths.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { ThrottlingProxy } from './throttling-proxy.ts';

const NAMESPACE = 'machineconfig-guard';
/** The guard's user name in the API server. */
export const GUARD_USER = `system:serviceaccount:${NAMESPACE}:machineconfig-guard`;

/** Prepares a launch of the guard. It may put files into a folder that is removed with the cluster. */
export type LaunchPreparation = (directory: string) => Promise<Launch>;

interface ClusterParts {
  readonly controlPlane: ControlPlane;
  readonly network: TcpProxy;
  readonly throttle: ThrottlingProxy;
  readonly token: GuardToken;
  readonly guard: GuardProcess;
  /** The guard's kubeconfig. */
  readonly kubeconfig: string;
  readonly metrics: MetricsClient;
}

/**
 * A control plane and one registered guard process with the rights of its manifests. The guard reaches the API server
 * through `network` and `throttle`, so that both can fail.
 */
export class GuardedCluster {
  readonly controlPlane: ControlPlane;
  readonly network: TcpProxy;
  readonly throttle: ThrottlingProxy;
  readonly token: GuardToken;
  readonly guard: GuardProcess;
  readonly kubeconfig: string;
  readonly metrics: MetricsClient;
  #secondApiServer: Promise<ApiServer> | undefined;
  #launchPreparation: LaunchPreparation | undefined;

  private constructor(parts: ClusterParts) {
    this.controlPlane = parts.controlPlane;
    this.network = parts.network;
    this.throttle = parts.throttle;
    this.token = parts.token;
    this.guard = parts.guard;
    this.kubeconfig = parts.kubeconfig;
    this.metrics = parts.metrics;
  }

  /**
   * Returns when the API server calls the guard.
   *
   * @param options `direct: true` connects the guard to the API server without proxies, for measurements
   */
  static async start(binaries: Binaries, { direct = false } = {}): Promise<GuardedCluster> {
    const controlPlane = await ControlPlane.start(binaries);
    try {
      const { apiServer, caCertificate, directory, reaper } = controlPlane;
      await applyRbac(controlPlane);
      const token = await GuardToken.issue(controlPlane, join(directory, 'guard.token'));
      const throttle = await ThrottlingProxy.start(apiServer.url, caCertificate);
      const network = await TcpProxy.start(throttle.port);
      const url = direct ? apiServer.url : `https://127.0.0.1:${network.port}`;
      const file = join(directory, 'guard.kubeconfig');
      await writeFile(file, kubeconfig(url, direct ? caCertificate : throttle.ca, { tokenFile: token.file }));
      const guard = await GuardProcess.start({ kubeconfig: file, directory, reaper });
      await registerGuard(controlPlane, guard);
      const metrics = await MetricsClient.create(guard, apiServer.admin);
      return new GuardedCluster({ controlPlane, network, throttle, token, guard, kubeconfig: file, metrics });
    } catch (error) {
      await controlPlane.stop();
      throw error;
    }
  }

  get connection(): ClusterConnection {
    const { connection, auditLog } = this.controlPlane.apiServer;
    return { admin: connection, auditLog };
  }

  /** A second API server on the same etcd, which calls the guard, too. The guard never reads from it. */
  secondApiServer(): Promise<ApiServer> {
    this.#secondApiServer ??= this.controlPlane.startApiServer().then(async (apiServer) => {
      await awaitGuardCalls(apiServer.admin);
      return apiServer;
    });
    return this.#secondApiServer;
  }

  /** Restarts the guard with this launch, or with the usual one, unless it already runs so. */
  async launchGuard(prepare?: LaunchPreparation): Promise<void> {
    if (prepare === this.#launchPreparation) return;
    await this.guard.restart(await prepare?.(this.controlPlane.directory));
    this.#launchPreparation = prepare;
  }

  async stop(): Promise<void> {
    await this.network.stop();
    await this.throttle.stop();
    this.metrics.close();
    await this.controlPlane.stop();
  }
}

/** Creates the guard's namespace, its service account and its rights from the manifests. */
async function applyRbac({ apiServer: { admin } }: ControlPlane): Promise<void> {
  await admin.create(PATHS.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  // The API server creates it a moment after it is ready.
  await until('the namespace default', () => admin.find(`${PATHS.namespaces}/default`), { timeoutMs: 10_000 });
  for (const document of parseAllDocuments(await readFile(join(MANIFESTS, 'base', 'rbac.yaml'), 'utf8'))) {
    const object = document.toJS() as KubeObject;
    await admin.create(collectionOf(object), object);
  }
}

function collectionOf({ apiVersion, kind, metadata: { namespace } }: KubeObject): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${kind.toLowerCase()}s`;
}

/** Creates the webhook configuration of the manifests, and returns when the API server calls the guard. */
async function registerGuard({ apiServer }: ControlPlane, guard: GuardProcess): Promise<void> {
  const caBundle = Buffer.from(guard.ca).toString('base64');
  const configuration = buildWebhookConfiguration({
    clientConfig: { url: guard.url, caBundle },
    failurePolicy: 'Fail',
  });
  await apiServer.admin.create(PATHS.webhookConfigurations, configuration);
  await awaitGuardCalls(apiServer.admin);
}
