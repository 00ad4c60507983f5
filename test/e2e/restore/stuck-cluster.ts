import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { type ConfigOnDisk, createConfigOnDisk } from '../../support/config-on-disk.ts';
import { ControlPlane, kubeconfig } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { pool as poolObject } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { setNodeState } from './machines.ts';
import { runBinaries } from '../support/run-binaries.ts';

const MCO = 'machineconfiguration.openshift.io';
const CONFIG_MAPS = `${PATHS.namespaces}/kube-system/configmaps`;

/** A pool of masters that name a config which was never in the API. */
export interface StuckPool {
  readonly missing: ConfigOnDisk;
  /** The config in the spec of the pool. */
  readonly rendered: string;
  readonly masters: readonly string[];
}

let shared: Promise<StuckCluster> | undefined;

/** A control plane without operator and without guard: tests set what the daemons report. */
export class StuckCluster {
  readonly controlPlane: ControlPlane;
  readonly cluster: Cluster;

  private constructor(controlPlane: ControlPlane) {
    this.controlPlane = controlPlane;
    const { connection, auditLog } = controlPlane.apiServer;
    this.cluster = new Cluster({ admin: connection, auditLog });
  }

  static async start(): Promise<StuckCluster> {
    return new StuckCluster(await ControlPlane.start(await runBinaries()));
  }

  /** The test files of a worker share this cluster, one after another. */
  static shared(): Promise<StuckCluster> {
    shared ??= StuckCluster.start();
    return shared;
  }

  /** @param token undefined connects as an administrator */
  connect(token = this.controlPlane.apiServer.connection.token ?? ''): KubeApi {
    const { apiServer, caCertificate } = this.controlPlane;
    return new KubeApi(
      connectionFromKubeconfig(kubeconfig(apiServer.url, caCertificate, { token })),
      'machineconfig-guard/restore',
    );
  }

  /** Removes the objects of other tests, and creates a pool whose masters are Degraded. */
  async createStuckPool({ masters = 2, replicas = 3, status = '' } = {}): Promise<StuckPool> {
    const { admin } = this.cluster;
    for (const path of [PATHS.pools, PATHS.nodes, PATHS.configs]) await admin.delete(path);
    await admin.delete(`${CONFIG_MAPS}/cluster-config-v1`);
    const data = { 'install-config': `apiVersion: v1\ncontrolPlane:\n  replicas: ${replicas}\n` };
    const metadata = { name: 'cluster-config-v1' };
    await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    const missing = createConfigOnDisk();
    const rendered = await this.cluster.config({ name: createConfigOnDisk().name });
    await this.createPool({ name: 'master', spec: rendered });
    if (status !== '') await this.setPoolStatus({ configuration: { name: status } });
    const names: string[] = [];
    for (let index = 0; index < masters; index += 1) names.push(await this.joinMaster(missing.name, 'Degraded'));
    return { missing, rendered, masters: names };
  }

  /** A pool that selects only its own role, as the pools of the installer do. */
  async createPool({ name, spec }: { readonly name: string; readonly spec?: string }): Promise<void> {
    const object = poolObject({ name, ...(spec === undefined ? {} : { spec }) });
    const machineConfigSelector = { matchLabels: { [`${MCO}/role`]: name } };
    await this.cluster.admin.create(PATHS.pools, {
      ...object,
      spec: { ...object.spec, machineConfigSelector },
    });
  }

  async joinMaster(config: string, state: string): Promise<string> {
    const name = await this.cluster.node({
      name: unique('control'),
      role: 'master',
      currentConfig: config,
      desiredConfig: config,
    });
    await this.setNodeState(name, state);
    return name;
  }

  async setNodeState(name: string, state: string): Promise<void> {
    await setNodeState(this.cluster, name, state);
  }

  async setPoolStatus(status: object): Promise<void> {
    await this.cluster.admin.patch(`${PATHS.pools}/master/status`, { status });
  }

  async getPool(): Promise<PoolObject> {
    return (await this.cluster.admin.find(`${PATHS.pools}/master`)) as PoolObject;
  }

  async findConfig(name: string): Promise<KubeObject | undefined> {
    return await this.cluster.admin.find(`${PATHS.configs}/${name}`);
  }
}

type PoolObject = KubeObject & {
  readonly spec: { readonly paused: boolean };
  readonly status?: { readonly configuration?: { readonly name?: string } };
};
