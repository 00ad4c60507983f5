import { isDeepStrictEqual } from 'node:util';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { computeRenderedName } from '../rendered-config/config-hash.ts';
import type { InMemoryCluster } from './cluster/in-memory-cluster.ts';

export type MachineConfig = ReturnType<typeof renderMachineConfig>;

interface NodeView {
  readonly name: string;
  readonly currentConfig: string;
  readonly desiredConfig: string;
  readonly state: 'Done' | 'Degraded';
}

const POOL = 'master';
const MASTER_LABEL = 'node-role.kubernetes.io/master';
/** The fields of a node that the operator writes (machine-config-operator, pkg/daemon/constants). */
const PREFIX = `${MCO_GROUP}/`;

/** A rendered config of pool master with one file. */
export function renderMachineConfig(fileContent: string) {
  const contents = { source: `data:,${encodeURIComponent(fileContent)}` };
  const files = [{ path: '/etc/chrony.conf', mode: 420, overwrite: true, contents }];
  const spec = {
    config: { ignition: { version: '3.4.0' }, storage: { files } },
    osImageURL: `quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${'ac2ad5b01eed7b02'.repeat(4)}`,
  };
  const metadata = { name: computeRenderedName(POOL, spec) };
  return { apiVersion: `${MCO_GROUP}/v1`, kind: 'MachineConfig', metadata, spec };
}

/**
 * Pool master of a cluster in memory, with the rules of the Machine Config Operator 4.18 that can lead to a deadlock.
 * No outcome is prescribed: every actor reacts to the state of the cluster.
 */
export class Masters {
  /** What each machine boots with. */
  readonly disks = new Map<string, MachineConfig>();
  readonly #cluster: InMemoryCluster;
  readonly #print: (actor: string, message: string) => void;

  constructor(cluster: InMemoryCluster, print: (actor: string, message: string) => void) {
    this.#cluster = cluster;
    this.#print = print;
    const nodeSelector = { matchLabels: { [MASTER_LABEL]: '' } };
    cluster.create('machineconfigpools', { metadata: { name: POOL }, spec: { nodeSelector, paused: false } });
  }

  get nodes(): readonly NodeView[] {
    return this.#cluster.list('nodes').map(({ metadata: { name, annotations = {} } }) => {
      const read = (key: string): string => annotations[PREFIX + key] ?? '';
      const [currentConfig, desiredConfig] = [read('currentConfig'), read('desiredConfig')];
      return { name, currentConfig, desiredConfig, state: read('state') as NodeView['state'] };
    });
  }

  get configNames(): readonly string[] {
    return this.#cluster.list('machineconfigs').map(({ metadata: { name } }) => name);
  }

  get pool() {
    const { spec, status = {} } = this.#cluster.require('machineconfigpools', POOL, '') as {
      readonly spec?: { readonly configuration?: { readonly name: string }; readonly paused?: boolean };
      readonly status?: { readonly configuration?: { readonly name: string }; readonly updatedMachineCount?: number };
    };
    const { configuration, updatedMachineCount = 0 } = status;
    const config = spec?.configuration?.name ?? '';
    // The status keeps the last config that all machines had. It is empty if there was none.
    return { config, isPaused: spec?.paused === true, statusConfig: configuration?.name ?? '', updatedMachineCount };
  }

  rollOut(config: MachineConfig): void {
    this.#cluster.create('machineconfigs', config);
    this.#cluster.patch('machineconfigpools', POOL, { spec: { configuration: { name: config.metadata.name } } });
  }

  /** Creates the node of a host that has booted with a config. */
  join(host: string, config: MachineConfig): void {
    const { name } = config.metadata;
    this.disks.set(host, config);
    const metadata = { name: host, labels: { [MASTER_LABEL]: '' } };
    this.#cluster.create('nodes', { metadata });
    this.#annotate(host, { currentConfig: name, desiredConfig: name, state: 'Done' });
  }

  /** Runs until every actor waits for another one, or for a node in this state. */
  settle(isReached: (node: NodeView) => boolean = () => false): void {
    let hasReacted = true;
    while (hasReacted && !this.nodes.some(isReached)) {
      hasReacted = this.nodes.some((node) => this.#runDaemon(node)) || this.#updateStatus() || this.#chooseNode();
    }
  }

  #annotate(node: string, values: Partial<NodeView> & { readonly reason?: string }): void {
    const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [PREFIX + key, value]));
    this.#cluster.patch('nodes', node, { metadata: { annotations } });
  }

  /**
   * Without its current or desired config, a node that shall change is Degraded (pkg/daemon/daemon.go). The daemon
   * watches its node, but not the configs. Else the node gets the desired config.
   */
  #runDaemon({ name, currentConfig, desiredConfig, state }: NodeView): boolean {
    const configs = [currentConfig, desiredConfig];
    const missing = configs.find((config) => this.#cluster.get('machineconfigs', config) === undefined);
    const isWaiting = state === 'Degraded' ? missing !== undefined : currentConfig === desiredConfig;
    if (isWaiting) return false;
    if (missing !== undefined) {
      const reason = `missing MachineConfig ${missing}`;
      this.#annotate(name, { state: 'Degraded', reason });
      this.#print('daemon', `${name} is Degraded: ${reason}`);
      return true;
    }
    if (state === 'Degraded') {
      this.#annotate(name, { state: 'Done', reason: '' });
      this.#print('daemon', `${name} is no longer Degraded`);
      return true;
    }
    this.disks.set(name, this.#cluster.require('machineconfigs', desiredConfig, '') as unknown as MachineConfig);
    this.#annotate(name, { currentConfig: desiredConfig });
    this.#print('daemon', `${name} drains, writes ${desiredConfig}, reboots and is back`);
    return true;
  }

  /** The status keeps its config until every machine runs the config of the spec (pkg/controller/node/status.go). */
  #updateStatus(): boolean {
    const { config } = this.pool;
    const { nodes } = this;
    const updated = nodes.filter((node) => node.state === 'Done' && node.currentConfig === config).length;
    const isUpdated = nodes.length > 0 && updated === nodes.length;
    const status = {
      machineCount: nodes.length,
      updatedMachineCount: updated,
      degradedMachineCount: nodes.filter(({ state }) => state === 'Degraded').length,
      ...(isUpdated && { configuration: { name: config } }),
    };
    const { status: before = {} } = this.#cluster.require('machineconfigpools', POOL, '');
    if (isDeepStrictEqual({ ...(before as object), ...status }, before)) return false;
    this.#cluster.patch('machineconfigpools', POOL, { status });
    return true;
  }

  /** Updates one node at a time, and none while one is Degraded (pkg/controller/node/node_controller.go). */
  #chooseNode(): boolean {
    const { config, isPaused } = this.pool;
    const next = this.nodes.find(({ desiredConfig }) => desiredConfig !== config);
    if (isPaused || next === undefined || this.nodes.some(({ state }) => state === 'Degraded')) return false;
    this.#annotate(next.name, { desiredConfig: config });
    this.#print('operator', `${next.name} is next: desired -> ${config}`);
    return true;
  }
}
