import { restore, type RestoreOptions } from '../../../src/cli/restore/restore-run.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import { type ConfigOnDisk, createConfigOnDisk } from '../../support/config-on-disk.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/runner.ts';

const MCO = 'machineconfiguration.openshift.io';
const CONFIG_MAPS = `${PATHS.namespaces}/kube-system/configmaps`;

/** A pool of masters that name a config which was never in the API. */
export interface StuckPool {
  readonly missing: ConfigOnDisk;
  /** The config in the spec of the pool. */
  readonly rendered: string;
  readonly masters: readonly string[];
}

/** What machines do after a step of a restore. */
export type Reaction = readonly [RegExp, () => Promise<unknown>];

let shared: Promise<StuckCluster> | undefined;

/** A control plane without operator and without guard: tests set what the daemons report. */
export class StuckCluster {
  readonly controlPlane: ControlPlane;
  readonly cluster: Cluster;

  private constructor(controlPlane: ControlPlane) {
    this.controlPlane = controlPlane;
    this.cluster = new Cluster(controlPlane.apiServer);
  }

  /** The test files of a worker share this cluster, one after another. */
  static shared(): Promise<StuckCluster> {
    shared ??= runBinaries()
      .then((binaries) => ControlPlane.start(binaries))
      .then((controlPlane) => new StuckCluster(controlPlane));
    return shared;
  }

  /** @param token undefined connects as an administrator */
  connect(token?: string): KubeApi {
    return this.controlPlane.connectApi(token, 'machineconfig-guard/restore');
  }

  /** Removes the objects of other tests, and creates a pool whose masters are Degraded. */
  async createStuckPool({ masters = 2, replicas = 3, status = {} } = {}): Promise<StuckPool> {
    const { admin } = this.cluster;
    for (const path of [PATHS.pools, PATHS.nodes, PATHS.configs]) await admin.delete(path);
    await admin.delete(`${CONFIG_MAPS}/cluster-config-v1`);
    const data = { 'install-config': `apiVersion: v1\ncontrolPlane:\n  replicas: ${replicas}\n` };
    const metadata = { name: 'cluster-config-v1' };
    await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    const missing = createConfigOnDisk();
    const rendered = await this.cluster.config({ name: createConfigOnDisk().name });
    await this.cluster.pool({ name: 'master', spec: rendered });
    await this.setPoolStatus(status);
    const names: string[] = [];
    for (let index = 0; index < masters; index += 1) names.push(await this.joinMaster(missing.name, 'Degraded'));
    return { missing, rendered, masters: names };
  }

  /**
   * Restores the config of a pool. After the other reactions its daemons recover as soon as the restore waits for them.
   *
   * @returns the report, and the texts of the progress
   */
  async restore(
    { missing, masters }: StuckPool,
    { api, reactions = [], ...options }: Partial<RestoreOptions> & { api: KubeApi; reactions?: readonly Reaction[] },
  ) {
    const recover = () => Promise.all(masters.map((master) => this.setNodeState(master, 'Done')));
    const texts: string[] = [];
    const pending: Promise<unknown>[] = [];
    const { report } = await restore(api, {
      configs: [missing.config],
      isConfirmed: true,
      acceptContent: false,
      timeoutMs: 100_000,
      intervalMs: 50,
      ...options,
      onProgress: (text) => {
        texts.push(text);
        const reaction = [...reactions, [/^waiting for .* to leave Degraded/, recover] as const].find(([pattern]) =>
          pattern.test(text),
        );
        if (reaction !== undefined) pending.push(reaction[1]());
      },
    });
    await Promise.all(pending);
    return { report, texts };
  }

  /** The missing machine joins as soon as the restore waits for it. */
  join({ missing }: StuckPool): Reaction {
    return [/^waiting for 1 machine/, () => this.joinMaster(missing.name, 'Done')];
  }

  async joinMaster(config: string, state: string): Promise<string> {
    const configs = { currentConfig: config, desiredConfig: config };
    const name = await this.cluster.node({ name: unique('control'), role: 'master', ...configs });
    await this.setNodeState(name, state);
    return name;
  }

  /** What the machine-config-daemon reports. */
  async setNodeState(name: string, state: string): Promise<void> {
    const reason = state === 'Degraded' ? 'missing MachineConfig' : '';
    const annotations = { [`${MCO}/state`]: state, [`${MCO}/reason`]: reason };
    await this.cluster.admin.patch(`${PATHS.nodes}/${name}`, { metadata: { annotations } });
  }

  async setPoolStatus(status: object): Promise<void> {
    await this.cluster.admin.patch(`${PATHS.pools}/master/status`, { status });
  }

  getPool(): Promise<KubeObject | undefined> {
    return this.cluster.admin.find(`${PATHS.pools}/master`);
  }

  /** Whether the pool is paused, for which restore, and the config in its status. */
  async getPause() {
    const { spec, status, metadata } = (await this.getPool()) ?? {};
    const { paused } = spec as { readonly paused?: boolean };
    const { configuration } = (status ?? {}) as { readonly configuration?: { readonly name?: string } };
    return [paused, metadata?.annotations?.['machineconfig-guard.io/paused-for-restore'], configuration?.name];
  }

  findConfig(name: string): Promise<KubeObject | undefined> {
    return this.cluster.admin.find(`${PATHS.configs}/${name}`);
  }
}
