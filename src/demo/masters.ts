import { isDeepStrictEqual } from 'node:util';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { computeRenderedName } from '../rendered-config/config-hash.ts';
import type { InMemoryCluster } from './cluster/in-memory-cluster.ts';

export type MachineConfig = ReturnType<typeof renderMachineConfig>;
type State = 'Done' | 'Degraded';

interface NodeView {
  readonly name: string;
  readonly currentConfig: string;
  readonly desiredConfig: string;
  readonly state: State;
}

const POOL = 'master';
const MASTER_LABEL = 'node-role.kubernetes.io/master';
const API_VERSION = `${MCO_GROUP}/v1`;
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
  const annotations = {
    [`${PREFIX}generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
    [`${PREFIX}release-image-version`]: '4.18.30',
  };
  const metadata = { name: computeRenderedName(POOL, spec), annotations };
  return { apiVersion: API_VERSION, kind: 'MachineConfig', metadata, spec };
}

/**
 * Pool master of a cluster in memory, with the rules of the Machine Config Operator 4.18 that can lead to a deadlock.
 * No outcome is prescribed: every actor reacts to the state of the cluster.
 */
export class Masters {
  /** What each machine boots with. */
  readonly disks = new Map<string, MachineConfig>();
  readonly #cluster: InMemoryCluster;
  readonly #minMastersToDrain: number;
  readonly #print: (actor: string, message: string) => void;
  readonly #booting: string[] = [];
  /** The configs of each node when its daemon last looked. It watches its node, but not the configs. */
  readonly #seen = new Map<string, string>();
  readonly #waits = new Set<string>();

  /** @param minMastersToDrain as etcd's PodDisruptionBudget wants */
  constructor(cluster: InMemoryCluster, minMastersToDrain: number, print: (actor: string, message: string) => void) {
    this.#cluster = cluster;
    this.#minMastersToDrain = minMastersToDrain;
    this.#print = print;
    const nodeSelector = { matchLabels: { [MASTER_LABEL]: '' } };
    cluster.create('machineconfigpools', { metadata: { name: POOL }, spec: { nodeSelector, paused: false } });
  }

  get nodes(): readonly NodeView[] {
    return this.#cluster.list('nodes').map(({ metadata: { name, annotations = {} } }) => {
      const read = (key: string): string => annotations[PREFIX + key] ?? '';
      const [currentConfig, desiredConfig] = [read('currentConfig'), read('desiredConfig')];
      return { name, currentConfig, desiredConfig, state: read('state') as State };
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
    return {
      config: spec?.configuration?.name ?? '',
      isPaused: spec?.paused === true,
      /** The last config that all machines had. Empty if there was none. */
      statusConfig: configuration?.name ?? '',
      updatedMachineCount,
    };
  }

  /** Creates a config, which the pool rolls out. */
  rollOut(config: MachineConfig): void {
    this.#cluster.create('machineconfigs', config);
    const { name } = config.metadata;
    this.#cluster.patch('machineconfigpools', POOL, { spec: { configuration: { name } } });
  }

  /** Creates the node of a host that has booted with a config. The config need not exist in the API. */
  join(host: string, config: MachineConfig): void {
    const { name } = config.metadata;
    this.disks.set(host, config);
    const metadata = { name: host, labels: { [MASTER_LABEL]: '' } };
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    this.#cluster.create('nodes', { metadata, status });
    this.#annotate(host, { currentConfig: name, desiredConfig: name, state: 'Done' });
  }

  /** The host boots with what the machine-config-server of the cluster serves. */
  boot(host: string): void {
    this.#booting.push(host);
  }

  /** Runs until every actor waits for another one, or for a node in this state. */
  settle(isReached: (node: NodeView) => boolean = () => false): void {
    let hasReacted = true;
    while (hasReacted && !this.nodes.some(isReached)) {
      hasReacted =
        this.#bootHost() ||
        this.nodes.some((node) => this.#runDaemon(node)) ||
        this.#updateStatus() ||
        this.#chooseNode();
    }
  }

  #has(config: string): boolean {
    return this.#cluster.get('machineconfigs', config) !== undefined;
  }

  #annotate(node: string, values: Partial<NodeView> & { readonly reason?: string }): void {
    const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [PREFIX + key, value]));
    this.#cluster.patch('nodes', node, { metadata: { annotations } });
  }

  /** Prints once what an actor waits for. */
  #wait(actor: string, message: string): boolean {
    if (!this.#waits.has(message)) this.#print(actor, message);
    this.#waits.add(message);
    return false;
  }

  /** From the spec once a machine is updated, until then from the status (pkg/server/cluster_server.go). */
  #bootHost(): boolean {
    const [host] = this.#booting;
    if (host === undefined) return false;
    const { config, statusConfig, updatedMachineCount } = this.pool;
    const served = this.#cluster.get('machineconfigs', updatedMachineCount > 0 ? config : statusConfig);
    if (served === undefined) {
      return this.#wait('hosts', `${host} asks the machine-config-server for its config: HTTP 500; retries`);
    }
    this.#booting.shift();
    this.join(host, served as unknown as MachineConfig);
    this.#print('hosts', `${host} joins, running ${served.metadata.name}`);
    return true;
  }

  /** Without its current or desired config, a node is Degraded (pkg/daemon/daemon.go). Else it gets the desired one. */
  #runDaemon({ name, currentConfig, desiredConfig, state }: NodeView): boolean {
    const input = `${currentConfig} ${desiredConfig}`;
    if (this.#seen.get(name) === input && state !== 'Degraded') return false;
    this.#seen.set(name, input);
    const missing = [currentConfig, desiredConfig].find((config) => !this.#has(config));
    if (missing !== undefined) {
      if (state === 'Degraded') return false;
      const reason = `missing MachineConfig ${missing}`;
      this.#annotate(name, { state: 'Degraded', reason });
      this.#print('daemon', `${name} is Degraded: ${reason}`);
      return true;
    }
    if (state === 'Degraded') {
      this.#annotate(name, { state: 'Done', reason: '' });
      this.#print('daemon', `${name} is no longer Degraded`);
    }
    if (currentConfig === desiredConfig) return state === 'Degraded';
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
    const degraded = nodes.filter(({ state }) => state === 'Degraded').length;
    const isUpdated = nodes.length > 0 && updated === nodes.length;
    const status = {
      machineCount: nodes.length,
      updatedMachineCount: updated,
      readyMachineCount: updated,
      unavailableMachineCount: degraded,
      degradedMachineCount: degraded,
      conditions: [{ type: 'Updated', status: isUpdated ? 'True' : 'False' }],
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
    if (isPaused || next === undefined) return false;
    const degraded = this.nodes.filter(({ state }) => state === 'Degraded').map(({ name }) => name);
    if (degraded.length > 0) {
      const names = degraded.join(' and ');
      return this.#wait(
        'operator',
        `No capacity left (unavail=${degraded.length} >= maxUnavailable=1): ${names} Degraded`,
      );
    }
    if (this.nodes.length < this.#minMastersToDrain) return false;
    this.#annotate(next.name, { desiredConfig: config });
    this.#print('operator', `${next.name} is next: desired -> ${config}`);
    return true;
  }
}
