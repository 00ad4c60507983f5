import { dirname, join } from 'node:path';

import { parseDuration } from '../../../src/decision/duration.ts';
import type { Mode } from '../../../src/decision/settings.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { expectStatus, type KubeClientOptions } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { awaitGuardCalls, Cluster } from './cluster.ts';
import { readForeignCrds, type ForeignProject } from './foreign-crds.ts';
import { GUARD_USER } from './guarded-cluster.ts';
import { decisionsAbout, readJsonLines, type DecisionLine } from './guard-process.ts';
import { kubectlOk } from './kubectl.ts';
import { Kubelet } from './kubelet.ts';
import { MANIFESTS } from './overlays.ts';
import { PATHS } from './paths.ts';
import { requireProgram } from './program.ts';
import { runBinaries } from './run-binaries.ts';
import { serviceAccountToken } from './service-account.ts';
import { ServiceCa } from './service-ca.ts';

const BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/machineconfig-guard';
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

/** A cluster in which the guard's manifests can be applied, and then run. */
export class InstalledCluster {
  readonly controlPlane: ControlPlane;
  readonly kubelet: Kubelet;
  readonly cluster: Cluster;
  readonly serviceCa: ServiceCa;

  private constructor(controlPlane: ControlPlane) {
    this.controlPlane = controlPlane;
    const { connection, auditLog } = controlPlane.apiServer;
    this.cluster = new Cluster({ admin: connection, auditLog });
    this.serviceCa = new ServiceCa(controlPlane);
    this.kubelet = new Kubelet(controlPlane);
  }

  /**
   * Starts a cluster without the guard.
   *
   * @param projects projects whose CRDs exist, too
   * @param options `openshift: false` omits the CRDs of OpenShift and the garbage collector
   */
  static async start(
    projects: readonly ForeignProject[] = [],
    { openshift = true } = {},
  ): Promise<InstalledCluster> {
    requireProgram();
    const controlPlane = await ControlPlane.start(await runBinaries(), { openshift });
    await controlPlane.installCrds((await Promise.all(projects.map(readForeignCrds))).flat());
    const { admin } = controlPlane.apiServer;
    await until('the namespace default', () => admin.find(`${PATHS.namespaces}/default`));
    return new InstalledCluster(controlPlane);
  }

  /** Runs `oc apply -k` on an overlay of this repository or on another directory. */
  async applyOverlay(overlay: string): Promise<void> {
    const directory = overlay.startsWith('/') ? overlay : join(MANIFESTS, 'overlays', overlay);
    await kubectlOk(this.controlPlane, ['apply', '--kustomize', directory]);
  }

  /** Runs `oc delete -k` without waiting for finalizers. */
  async deleteOverlay(overlay: string): Promise<void> {
    await kubectlOk(this.controlPlane, [
      'delete',
      '--wait=false',
      '--kustomize',
      join(MANIFESTS, 'overlays', overlay),
    ]);
  }

  /** Waits until all replicas run, the MachineConfigGuard exists and the API server calls the guard. */
  async awaitGuard(): Promise<void> {
    await this.kubelet.awaitRollout();
    const { cluster } = this;
    await until('the MachineConfigGuard', () => cluster.admin.find(PATHS.guard), { timeoutMs: 20_000 });
    await awaitGuardCalls(cluster.admin);
  }

  /** Changes the MachineConfigGuard and waits until every replica applies it. */
  async setSettings({ mode, holdSuperseded }: { mode: Mode; holdSuperseded: string }): Promise<void> {
    await this.cluster.admin.patch(PATHS.guard, { spec: { mode, holdSuperseded } });
    const wanted = { mode, holdSupersededMs: parseDuration(holdSuperseded) };
    const isApplied = async () => {
      const applied = await Promise.all(this.kubelet.pods.map(({ log }) => readSettings(log)));
      return applied.every(
        (one) => one.mode === wanted.mode && one.holdSupersededMs === wanted.holdSupersededMs,
      );
    };
    // The documentation promises 2 s. Another 2 s are for a busy machine.
    await until(`the replicas to apply ${JSON.stringify(wanted)}`, isApplied, {
      timeoutMs: 4_000,
      everyMs: 50,
    });
  }

  /** The log lines of all replicas about a config. */
  async decisionsAbout(config: string): Promise<readonly DecisionLine[]> {
    const logs = await Promise.all(this.kubelet.history.map(({ log }) => decisionsAbout(log, config)));
    return logs.flat();
  }

  /** A connection with the rights of the guard. */
  async connectAsGuard(): Promise<KubeClientOptions> {
    const { url, admin } = this.controlPlane.apiServer;
    const token = await serviceAccountToken(admin, 'machineconfig-guard', 'machineconfig-guard');
    return { url, ca: this.controlPlane.caCertificate, token };
  }

  /** Removes the rights of the guard during a step. */
  async withoutRights(step: () => Promise<unknown>): Promise<void> {
    const { admin } = this.cluster;
    const mayListNodes = async () => {
      const spec = { user: GUARD_USER, resourceAttributes: { verb: 'list', resource: 'nodes' } };
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec,
      };
      const { status } = (await admin.create(ACCESS_REVIEWS, review)) as { status?: { allowed?: boolean } };
      return status?.allowed === true;
    };
    const binding = await admin.find(BINDING);
    await admin.delete(BINDING);
    try {
      await until('the rights to go', async () => !(await mayListNodes()));
      await step();
    } finally {
      await admin.create(dirname(BINDING), { ...binding, metadata: { name: 'machineconfig-guard' } });
      await until('the rights to come back', mayListNodes);
    }
  }

  /** Deletes all nodes, pools, builds and configs. The guard must run. */
  async clear(): Promise<void> {
    const { admin } = this.cluster;
    // The guard allows no deletion if the list of nodes is empty.
    const node = await this.cluster.node();
    for (const path of [PATHS.pools, PATHS.builds])
      expectStatus(await admin.delete(path), [200], `DELETE ${path}`);
    const otherNodes = { fieldSelector: `metadata.name!=${node}` };
    expectStatus(await admin.delete(PATHS.nodes, otherNodes), [200], `DELETE ${PATHS.nodes}`);
    expectStatus(await admin.delete(PATHS.configs), [200], `DELETE ${PATHS.configs}`);
    expectStatus(await admin.delete(`${PATHS.nodes}/${node}`), [200], `DELETE ${node}`);
  }

  async stop(): Promise<void> {
    await this.serviceCa.stop();
    await this.kubelet.stop();
    await this.controlPlane.stop();
  }
}

interface SettingsLine {
  readonly mode: Mode;
  readonly holdSupersededMs: number;
}

/** The settings that a replica applies. It logs a line when they change. */
async function readSettings(log: string): Promise<SettingsLine> {
  const lines = (await readJsonLines(log)) as readonly Partial<SettingsLine>[];
  const last = lines.findLast(
    ({ mode, holdSupersededMs }) => mode !== undefined && holdSupersededMs !== undefined,
  );
  return (last as SettingsLine | undefined) ?? { mode: 'Enforce', holdSupersededMs: 0 };
}
