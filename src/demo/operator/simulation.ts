import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { MachineConfig } from './machine-config.ts';
import { buildNodePatch, type NodeChange, type NodeView, parseNode } from './nodes.ts';
import { buildConfiguration, buildMasterPool, MASTER_POOL, parsePool, type PoolView } from './pool.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { WatchedCollection } from './watched-collection.ts';

export type ActorName =
  'hosts' | 'bootstrap' | 'operator' | 'daemon' | 'clean-up' | 'installer' | 'etcd' | 'install' | 'restore';

/** The answer to a denied request. */
export interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

export interface SimulationEvent {
  /** Simulated seconds since the hosts were switched on. */
  readonly t: number;
  readonly actor: ActorName;
  readonly message: string;
  readonly refusal?: Refusal;
}

export interface SimulationOptions {
  readonly api: KubeApi;
  /** Simulated seconds in a real second. */
  readonly speed: number;
  /** A master is drained only with this many Ready masters, as etcd's PodDisruptionBudget wants. */
  readonly minMastersToDrain?: number;
  readonly onEvent?: ((event: SimulationEvent) => void) | undefined;
}

/**
 * Pool master of a cluster, its machines and the parts of the Machine Config Operator. They act through the
 * Kubernetes API, so the same code runs on any API server.
 */
export class Simulation {
  readonly clock: SimulatedClock;
  readonly events: SimulationEvent[] = [];
  /** The config on the disk of each host, by name of the host. */
  readonly disks = new Map<string, MachineConfig>();
  /** The parts of the operator in the cluster start after the first masters have joined. */
  isOperatorUp = false;
  isApiUp = true;
  /** After an outage clients reconnect and sync again. */
  outageCount = 0;
  readonly #configs: WatchedCollection<MachineConfig>;
  readonly #nodes: WatchedCollection<ApiObject>;
  readonly #pools: WatchedCollection<ApiObject>;
  readonly #options: SimulationOptions;

  constructor(options: SimulationOptions) {
    const { api, speed } = options;
    this.#options = options;
    this.#configs = new WatchedCollection(api, MACHINE_CONFIGS_PATH);
    this.#nodes = new WatchedCollection(api, NODES_PATH);
    this.#pools = new WatchedCollection(api, POOLS_PATH);
    this.clock = new SimulatedClock(speed);
  }

  get nodes(): NodeView[] {
    return [...this.#nodes.objects.values()].map(parseNode).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get pool(): PoolView {
    return parsePool(this.#pools.objects.get(MASTER_POOL));
  }

  /** The names of the rendered configs. */
  get configs(): string[] {
    return [...this.#configs.objects.keys()].sort();
  }

  get canDrain(): boolean {
    const readyCount = this.nodes.filter(({ ready }) => ready).length;
    return readyCount >= (this.#options.minMastersToDrain ?? 0);
  }

  findConfig(name: string): MachineConfig | undefined {
    return this.#configs.objects.get(name);
  }

  /** @throws Error if the node does not exist */
  getNode(name: string): NodeView {
    const node = this.nodes.find((candidate) => candidate.name === name);
    if (node === undefined) throw new Error(`the simulation has no node ${name}`);
    return node;
  }

  async createNode(node: object): Promise<void> {
    await this.#write(() => this.#nodes.create(node));
  }

  async patchNode(name: string, change: NodeChange): Promise<void> {
    await this.#write(() => this.#nodes.patch(name, buildNodePatch(change)));
  }

  async createPool(): Promise<void> {
    await this.#write(() => this.#pools.create(buildMasterPool()));
  }

  /** Creates a config and makes the pool roll it out, as the render controller does. */
  async rollOut(config: MachineConfig): Promise<void> {
    const configuration = buildConfiguration(config.metadata.name);
    await this.#write(() => this.#configs.create(config));
    await this.#write(() => this.#pools.patch(MASTER_POOL, { spec: { configuration } }));
  }

  async patchPoolStatus(status: object): Promise<void> {
    await this.#write(() => this.#pools.patch(MASTER_POOL, { status }));
  }

  record(actor: ActorName, message: string, refusal?: Refusal): void {
    const t = Math.round(this.clock.now);
    const event = { t, actor, message, ...(refusal === undefined ? {} : { refusal }) };
    this.events.push(event);
    this.#options.onEvent?.(event);
  }

  /** Reads the cluster again, unless its API is stopped. */
  async refresh(): Promise<void> {
    if (!this.isApiUp) return;
    // The pools last: a pool is paused before its missing config is created.
    for (const collection of [this.#configs, this.#nodes, this.#pools]) {
      await this.clock.pauseDuring(collection.refresh());
    }
  }

  /**
   * Starts work that changes the cluster, and lasts only as long as it sleeps. So it has the same result at any
   * speed.
   */
  async pauseDuring<Result>(work: (sleep: (ms: number) => Promise<void>) => Promise<Result>): Promise<Result> {
    const sleep = async (ms: number): Promise<void> => {
      await this.refresh();
      await this.clock.sleepDuringWork(ms / 1_000);
    };
    const result = await this.clock.pauseDuring(work(sleep));
    await this.refresh();
    return result;
  }

  /** Clients retry while the API is stopped. */
  async #write(write: () => Promise<void>): Promise<void> {
    if (!this.isApiUp) await this.clock.waitFor(() => this.isApiUp);
    await this.clock.pauseDuring(write());
  }
}
