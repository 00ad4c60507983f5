import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parse } from 'yaml';

import type { Binaries } from '../control-plane/binaries.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { statusOf, type KubeObject, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { Cluster, unique } from './cluster.ts';
import { foreignCrds } from './go-module.ts';
import { kubectl, kubectlOk } from './kubectl.ts';
import { Kubelet } from './kubelet.ts';
import { PATHS } from './paths.ts';
import { ServiceCa } from './service-ca.ts';

const MANIFESTS = fileURLToPath(new URL('../../../manifests', import.meta.url));

/** A cluster into which the guard is installed by its manifests, and which runs it as they say. */
export class InstalledCluster {
  readonly controlPlane: ControlPlane;
  readonly kubelet: Kubelet;
  readonly cluster: Cluster;
  readonly serviceCa: ServiceCa;

  private constructor(controlPlane: ControlPlane) {
    this.controlPlane = controlPlane;
    const { apiServer, release } = controlPlane;
    // There is no guard yet whose address could be told: only what does not need it can be used.
    const nobody = { url: '', ca: '' };
    this.cluster = new Cluster({
      kubernetes: release.kubernetes,
      admin: apiServer.connection,
      auditLog: apiServer.auditLog,
      guard: nobody,
      webhook: nobody,
      metrics: nobody,
      guardLog: '',
    });
    this.serviceCa = ServiceCa.start(controlPlane);
    this.kubelet = Kubelet.start(controlPlane);
  }

  /** A cluster without the guard. `openshift: false` leaves it without OpenShift's CRDs, too; `prometheusOperator` adds that one's. */
  static async start(
    binaries: Binaries,
    { openshift = true, prometheusOperator = false }: { openshift?: boolean; prometheusOperator?: boolean } = {},
  ): Promise<InstalledCluster> {
    const controlPlane = await ControlPlane.start(binaries, { openshift });
    if (prometheusOperator) {
      const crds = await foreignCrds('prometheus-operator');
      for (const crd of crds) await controlPlane.apiServer.admin.create(PATHS.crds, crd);
      for (const { spec } of crds as readonly { spec?: { names?: { plural?: string } } }[]) {
        const kinds = ['get', spec?.names?.plural ?? ''];
        await until('its kinds', async () => (await kubectl(controlPlane, kinds)).exitCode === 0, {
          timeoutMs: 20_000,
        });
      }
    }
    await until('the namespace default', () => controlPlane.apiServer.admin.find(`${PATHS.namespaces}/default`), {
      timeoutMs: 10_000,
    });
    return new InstalledCluster(controlPlane);
  }

  /** `oc apply -k` of an overlay of this repository, or of another directory. */
  async applyOverlay(overlay: string): Promise<void> {
    const directory = overlay.startsWith('/') ? overlay : join(MANIFESTS, 'overlays', overlay);
    await kubectlOk(this.controlPlane, ['apply', '--kustomize', directory]);
  }

  /** `oc delete -k`, without waiting for the end of what was deleted. */
  async deleteOverlay(overlay: string): Promise<void> {
    const directory = join(MANIFESTS, 'overlays', overlay);
    await kubectlOk(this.controlPlane, ['delete', '--wait=false', '--kustomize', directory]);
  }

  /** Waits until the Deployment runs, has made its MachineConfigGuard, and the API server asks it. */
  async awaitGuard(): Promise<void> {
    await this.kubelet.settled();
    await until('the MachineConfigGuard', () => this.cluster.admin.find(PATHS.guard), { timeoutMs: 20_000 });
    const config = await this.cluster.config();
    await this.cluster.node({ name: unique('awaited'), currentConfig: config });
    let last: KubeResponse | undefined;
    await until('the API server to ask the guard', async () => deniedInUse((last = await this.dryRun(config))), {
      timeoutMs: 30_000,
    }).catch((error: unknown) => {
      throw new Error(`The last answer was ${JSON.stringify(last?.body)}`, { cause: error });
    });
  }

  /** Asks whether it would be deleted. */
  dryRun(config: string): Promise<KubeResponse> {
    return this.cluster.delete(config, { dryRun: 'All' });
  }

  async stop(): Promise<void> {
    await this.serviceCa.stop();
    await this.kubelet.stop();
    await this.controlPlane.stop();
  }
}

/** Whether this is the guard's refusal because something uses the config. */
export function deniedInUse(response: KubeResponse): boolean {
  return response.status === 403 && statusOf(response).message?.includes('denied the request: MCG_IN_USE') === true;
}

/** The objects of a rendered set, by file name. */
export async function readSet(directory: string): Promise<ReadonlyMap<string, KubeObject>> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
  const objects = names.map(async (name) => {
    const object = parse(await readFile(join(directory, name), 'utf8')) as KubeObject;
    return [name, object] as const;
  });
  return new Map(await Promise.all(objects));
}
