import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parseAllDocuments } from 'yaml';

import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import type { Binaries } from '../control-plane/binaries.ts';
import { ControlPlane, kubeconfig } from '../control-plane/control-plane.ts';
import { objectOf, type KubeClientOptions, type KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import type { ClusterConnection } from './cluster.ts';
import { decisionsAbout, GuardProcess } from './guard-process.ts';
import { machineConfig, renderedName } from './objects.ts';
import { PATHS } from './paths.ts';
import { serviceAccountToken } from './service-account.ts';
import { TcpProxy } from './tcp-proxy.ts';

const NAMESPACE = 'machineconfig-guard';
/** The guard, as the API server names it. */
export const GUARD_USER = `system:serviceaccount:${NAMESPACE}:machineconfig-guard`;
const RBAC = fileURLToPath(new URL('../../../manifests/base/rbac.yaml', import.meta.url));
const EFFECTIVE_TIMEOUT_MS = 20_000;

/** A control plane, the guard beside it with the rights of its manifests and no more, and its registration. */
export class GuardedCluster {
  readonly controlPlane: ControlPlane;
  /** Between the guard and the API server. */
  readonly proxy: TcpProxy;
  readonly guard: GuardProcess;
  /** The guard's kubeconfig. */
  readonly kubeconfig: string;
  readonly #guardConnection: KubeClientOptions;

  private constructor(parts: {
    controlPlane: ControlPlane;
    proxy: TcpProxy;
    guard: GuardProcess;
    guardConnection: KubeClientOptions;
    kubeconfig: string;
  }) {
    this.controlPlane = parts.controlPlane;
    this.proxy = parts.proxy;
    this.guard = parts.guard;
    this.#guardConnection = parts.guardConnection;
    this.kubeconfig = parts.kubeconfig;
  }

  /** Returns once the API server asks the guard. `direct`: where time is measured, the guard reads past the proxy. */
  static async start(binaries: Binaries, { direct = false } = {}): Promise<GuardedCluster> {
    const controlPlane = await ControlPlane.start(binaries);
    const proxy = await TcpProxy.start(Number(new URL(controlPlane.apiServer.url).port));
    try {
      await applyRbac(controlPlane);
      const guardConnection = {
        url: direct ? controlPlane.apiServer.url : `https://127.0.0.1:${proxy.port}`,
        ca: controlPlane.caCertificate,
        token: await serviceAccountToken(controlPlane.apiServer.admin, NAMESPACE, 'machineconfig-guard'),
      };
      const file = join(controlPlane.directory, 'guard.kubeconfig');
      const text = kubeconfig(guardConnection.url, guardConnection.ca, { token: guardConnection.token });
      await writeFile(file, text, { mode: 0o600 });
      const { directory, leash } = controlPlane;
      const guard = await GuardProcess.start({ kubeconfig: file, directory, leash });
      await register(controlPlane, guard);
      return new GuardedCluster({ controlPlane, proxy, guard, guardConnection, kubeconfig: file });
    } catch (error) {
      await proxy.stop();
      await controlPlane.stop();
      throw error;
    }
  }

  get connection(): ClusterConnection {
    const { apiServer, release } = this.controlPlane;
    return {
      kubernetes: release.kubernetes,
      admin: apiServer.connection,
      guard: this.#guardConnection,
      webhook: { url: this.guard.url, ca: this.guard.ca },
      metrics: { url: this.guard.metricsUrl, ca: this.guard.ca },
      auditLog: apiServer.auditLog,
      guardLog: this.guard.log,
    };
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.controlPlane.stop();
  }
}

/** The guard's namespace, its ServiceAccount and its rights, as the manifests have them. */
export async function applyRbac({ apiServer: { admin } }: ControlPlane): Promise<void> {
  await admin.create(PATHS.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  // The API server makes it a moment after it is ready.
  await until('the namespace default', () => admin.find(`${PATHS.namespaces}/default`), { timeoutMs: 10_000 });
  for (const document of parseAllDocuments(await readFile(RBAC, 'utf8'))) {
    const object = document.toJS() as KubeObject;
    await admin.create(collectionOf(object), object);
  }
}

/** Where an object of rbac.yaml is created. */
function collectionOf({ apiVersion, kind, metadata: { namespace } }: KubeObject): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${kind.toLowerCase()}s`;
}

/** Registers the guard as the manifests do, and returns once the API server asks it. */
export async function register(controlPlane: ControlPlane, guard: GuardProcess): Promise<void> {
  const caBundle = Buffer.from(guard.ca).toString('base64');
  const registration = buildWebhookConfiguration({ clientConfig: { url: guard.url, caBundle }, failurePolicy: 'Fail' });
  await controlPlane.apiServer.admin.create(PATHS.webhookConfigurations, registration);
  await awaitEffect(controlPlane, guard);
}

/** A new registration takes the API server a moment to notice: asks, without deleting anything, until the guard is asked. */
async function awaitEffect({ apiServer: { admin } }: ControlPlane, guard: GuardProcess): Promise<void> {
  const name = renderedName('probe');
  await admin.create(PATHS.configs, machineConfig({ name }));
  await until(
    'the API server to call the guard',
    async () => {
      const response = await admin.delete(`${PATHS.configs}/${name}`, { dryRun: 'All' });
      if (response.status >= 500) throw new Error(JSON.stringify(objectOf(response)));
      return (await decisionsAbout(guard.log, name)).length > 0;
    },
    { timeoutMs: EFFECTIVE_TIMEOUT_MS },
  );
  await admin.delete(`${PATHS.configs}/${name}`);
}
