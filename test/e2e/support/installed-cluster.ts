import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { parseDuration } from '../../../src/common/duration.ts';
import { DEFAULT_SETTINGS, type Mode, type Settings } from '../../../src/api/settings.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { expectStatus } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import type { GuardPods } from '../node/guard-pods.ts';
import { Cluster } from './cluster.ts';
import { GuardProcesses, parseJsonLines } from './guard-processes.ts';
import { kubectlOk } from './kubectl.ts';
import { overlayForRelease } from './overlays.ts';
import { PATHS } from './objects.ts';
import { runBinaries } from './runner.ts';
import { startServiceCa } from './service-ca.ts';

/** The running replicas of the guard's Deployment. */
type Replicas = GuardProcesses | GuardPods;

/** A cluster in which the guard's manifests can be applied, and then run. */
export class InstalledCluster<Guards extends Replicas = Replicas> {
  readonly controlPlane: ControlPlane;
  readonly replicas: Guards;
  readonly cluster: Cluster;
  readonly serviceCa: ReturnType<typeof startServiceCa>;

  /** The cluster stops with its replicas. */
  constructor(controlPlane: ControlPlane, replicas: Guards) {
    this.controlPlane = controlPlane;
    this.replicas = replicas;
    this.cluster = new Cluster(controlPlane.apiServer);
    this.serviceCa = startServiceCa(controlPlane);
  }

  /**
   * Starts a cluster without the guard and without nodes. The replicas are processes of this machine.
   * @param projects of crds.yaml, whose CRDs exist, too
   */
  static async start(projects: readonly string[] = []): Promise<InstalledCluster<GuardProcesses>> {
    const controlPlane = await ControlPlane.start(await runBinaries());
    await controlPlane.installProjects(...projects);
    return new InstalledCluster(controlPlane, new GuardProcesses(controlPlane));
  }

  /** Runs `oc apply -k` on an overlay of this repository or on another directory. */
  async applyOverlay(name: string) {
    await this.#kustomize(name, 'apply');
  }

  /** Runs `oc delete -k` without waiting for finalizers. */
  async deleteOverlay(name: string) {
    await this.#kustomize(name, 'delete', '--ignore-not-found', '--wait=false');
  }

  async #kustomize(name: string, ...args: readonly string[]) {
    const directory = await overlayForRelease(this.controlPlane, name);
    await kubectlOk(this.controlPlane, [...args, '--kustomize', directory]);
  }

  /**
   * Waits until all replicas run, the MachineConfigGuard exists and the API server calls the guard. Switches the hold
   * off, because most tests delete configs that a pool has just left.
   */
  async awaitGuard() {
    await this.replicas.awaitRollout();
    const { cluster } = this;
    await until('the MachineConfigGuard', () => cluster.admin.find(PATHS.guard));
    await this.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
    await cluster.awaitGuardCalls();
  }

  /** Changes the MachineConfigGuard, and waits until every replica applies it. */
  async setSettings({ mode, holdSuperseded }: { mode: Mode; holdSuperseded: string }) {
    await this.cluster.admin.patch(PATHS.guard, { spec: { mode, holdSuperseded } });
    const wanted = { mode, holdSupersededMs: parseDuration(holdSuperseded) };
    const isApplied = async () => {
      const applied = (await this.replicas.readLogs()).map(readSettings);
      return applied.every((settings) => isDeepStrictEqual(settings, wanted));
    };
    await until(`mode ${mode} in all replicas`, isApplied, { everyMs: 50 });
  }

  /** Deletes a config in use until the index leads to the denial, and not a live read. */
  async awaitDenialFromIndex(config: string) {
    const isDeniedFromIndex = async () => {
      expect([403, 503]).toContain((await this.cluster.delete(config)).status);
      const decisions = (await this.replicas.readLogs()).flatMap((log) =>
        parseJsonLines<{ readonly name: string; readonly path: 'index' | 'live' | 'none' }>(log),
      );
      return decisions.some(({ name, path }) => name === config && path === 'index');
    };
    await until(`a denial of ${config} from the index`, isDeniedFromIndex, { everyMs: 500 });
  }

  /** Deletes all pools, builds and configs, and the nodes without a kubelet. */
  async clear() {
    const { admin } = this.cluster;
    // The guard allows no deletion if the list of nodes is empty.
    const node = await this.cluster.node();
    // Kubelets set the label on their own nodes.
    const madeUp = { fieldSelector: `metadata.name!=${node}`, labelSelector: '!kubernetes.io/arch' };
    await admin.delete(PATHS.nodes, madeUp);
    for (const path of [PATHS.pools, PATHS.builds, PATHS.configs, `${PATHS.nodes}/${node}`]) {
      expectStatus(await admin.delete(path), [200], `DELETE ${path}`);
    }
  }

  async stop() {
    await this.serviceCa.stop();
    await this.replicas.stop();
    await this.controlPlane.stop();
  }
}

/** The settings that a replica applies. It logs a line when they change. */
function readSettings(log: string): Settings {
  const lines = parseJsonLines<Partial<Settings>>(log);
  const last = lines.findLast((line) => line.mode !== undefined && line.holdSupersededMs !== undefined);
  const { mode, holdSupersededMs } = { ...DEFAULT_SETTINGS, ...last };
  return { mode, holdSupersededMs };
}

let shared: Promise<InstalledCluster<GuardProcesses>> | undefined;

/**
 * A cluster with the overlay `monitoring`, two replicas and the mode Enforce. The test files of a worker
 * share it, one after another, and leave it as they found it. Objects of other files may exist.
 */
export function sharedInstalledCluster(): Promise<InstalledCluster<GuardProcesses>> {
  return (shared ??= startInstalledCluster());
}

async function startInstalledCluster(): Promise<InstalledCluster<GuardProcesses>> {
  const cluster = await InstalledCluster.start(['prometheus-operator']);
  await cluster.applyOverlay('monitoring');
  await cluster.awaitGuard();
  return cluster;
}
