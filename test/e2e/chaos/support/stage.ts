import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Binaries } from '../../control-plane/binaries.ts';
import { ControlPlane, kubeconfig, type ApiServer } from '../../control-plane/control-plane.ts';
import { until } from '../../control-plane/until.ts';
import { unique } from '../../support/cluster.ts';
import { GuardProcess } from '../../support/guard-process.ts';
import { applyRbac, register } from '../../support/guarded-cluster.ts';
import { machineConfig, node, renderedName } from '../../support/objects.ts';
import { PATHS } from '../../support/paths.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { ApiFront } from './api-front.ts';
import type { Fault } from './fault.ts';
import { GuardToken } from './guard-token.ts';
import { IndexHits } from './index-hits.ts';

/** Everything that can fail, in one place: guard → network → load → API server → etcd. */
export class Stage {
  readonly controlPlane: ControlPlane;
  /** The guard's network. */
  readonly network: TcpProxy;
  /** What stands for an API server under load. */
  readonly front: ApiFront;
  readonly token: GuardToken;
  readonly guard: GuardProcess;
  readonly indexHits: IndexHits;
  #launched: Fault['launch'];
  #another: ApiServer | undefined;

  private constructor(parts: Pick<Stage, 'controlPlane' | 'network' | 'front' | 'token' | 'guard' | 'indexHits'>) {
    this.controlPlane = parts.controlPlane;
    this.network = parts.network;
    this.front = parts.front;
    this.token = parts.token;
    this.guard = parts.guard;
    this.indexHits = parts.indexHits;
  }

  /** Returns once the API server asks the guard. */
  static async start(binaries: Binaries): Promise<Stage> {
    const controlPlane = await ControlPlane.start(binaries);
    try {
      const { apiServer, caCertificate, directory, leash } = controlPlane;
      await applyRbac(controlPlane);
      const token = await GuardToken.issue(controlPlane, join(directory, 'guard.token'));
      const front = await ApiFront.start(apiServer.url, caCertificate);
      const network = await TcpProxy.start(front.port);
      const file = join(directory, 'guard.kubeconfig');
      await writeFile(file, kubeconfig(`https://127.0.0.1:${network.port}`, front.ca, { tokenFile: token.file }));
      const guard = await GuardProcess.start({ kubeconfig: file, directory, leash });
      await register(controlPlane, guard);
      const indexHits = await IndexHits.of(guard, apiServer.admin);
      return new Stage({ controlPlane, network, front, token, guard, indexHits });
    } catch (error) {
      await controlPlane.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.network.stop();
    await this.front.stop();
    this.indexHits.close();
    await this.controlPlane.stop();
  }

  /** Starts the guard anew, unless it was started just so already. */
  async launch(launch: Fault['launch']): Promise<void> {
    if (launch === this.#launched) return;
    await this.guard.restart(await launch?.(this.controlPlane.directory));
    this.#launched = launch;
  }

  /** A second API server on the same etcd, which asks the guard too. The guard does not know it. */
  async another(): Promise<ApiServer> {
    if (this.#another === undefined) {
      this.#another = await this.controlPlane.startApiServer();
      await awaitRefusal(this.#another);
    }
    return this.#another;
  }
}

/** Ready is not enough: for a moment after its start an API server may not know yet whom to ask. */
async function awaitRefusal({ admin }: ApiServer): Promise<void> {
  const name = renderedName('probe');
  await admin.create(PATHS.configs, machineConfig({ name }));
  await admin.create(PATHS.nodes, node({ name: unique('probe'), currentConfig: name }));
  const isRefused = async () => (await admin.delete(`${PATHS.configs}/${name}`, { dryRun: 'All' })).status === 403;
  await until('the second API server to ask the guard', isRefused, { timeoutMs: 30_000 });
}
