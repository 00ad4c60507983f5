import type { KubeApi } from '../../kube/api.ts';
import { ClusterView } from './cluster-view.ts';
import type { MachineConfig } from './machine-config.ts';
import { buildNodePatch, type NodeChange, type NodeView, parseNode } from './nodes.ts';
import { buildConfiguration, buildMasterPool, MASTER_POOL, parsePool, type PoolView } from './pool.ts';
import { SimulatedClock } from './simulated-clock.ts';

export type ActorName =
  | 'hosts'
  | 'bootstrap'
  | 'operator'
  | 'daemon'
  | 'clean-up'
  | 'installer'
  | 'etcd'
  | 'install'
  | 'admin'
  | 'restore';

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
  readonly #view: ClusterView;
  readonly #options: SimulationOptions;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#view = new ClusterView(options.api);
    this.clock = new SimulatedClock(options.speed);
  }

  get nodes(): NodeView[] {
    return [...this.#view.nodes.values()].map(parseNode).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get pool(): PoolView {
    return parsePool(this.#view.pools.get(MASTER_POOL));
  }

  /** The names of the rendered configs. */
  get configs(): string[] {
    return [...this.#view.configs.keys()].sort();
  }

  get canDrain(): boolean {
    const readyCount = this.nodes.filter(({ ready }) => ready).length;
    return readyCount >= (this.#options.minMastersToDrain ?? 0);
  }

  findConfig(name: string): MachineConfig | undefined {
    return this.#view.configs.get(name);
  }

  /** @throws Error if the node does not exist */
  getNode(name: string): NodeView {
    const node = this.nodes.find((candidate) => candidate.name === name);
    if (node === undefined) throw new Error(`the simulation has no node ${name}`);
    return node;
  }

  async createNode(node: object): Promise<void> {
    await this.#write((view) => view.createNode(node));
  }

  async patchNode(name: string, change: NodeChange): Promise<void> {
    await this.#write((view) => view.patchNode(name, buildNodePatch(change)));
  }

  async createPool(): Promise<void> {
    await this.#write((view) => view.createPool(buildMasterPool()));
  }

  /** Creates a config and makes the pool roll it out, as the render controller does. */
  async rollOut(config: MachineConfig): Promise<void> {
    const configuration = buildConfiguration(config.metadata.name);
    await this.#write((view) => view.createConfig(config));
    await this.#write((view) => view.patchPool(MASTER_POOL, { spec: { configuration } }));
  }

  async patchPoolStatus(status: object): Promise<void> {
    await this.#write((view) => view.patchPoolStatus(MASTER_POOL, status));
  }

  record(actor: ActorName, message: string, refusal?: Refusal): void {
    const t = Math.round(this.clock.now);
    const event = { t, actor, message, ...(refusal === undefined ? {} : { refusal }) };
    this.events.push(event);
    this.#options.onEvent?.(event);
  }

  /** Reads the cluster again, unless its API is stopped. */
  async refresh(): Promise<void> {
    if (this.isApiUp) await this.clock.pauseDuring(this.#view.refresh());
  }

  /** Runs until every actor waits for another one. */
  async runUntilIdle(): Promise<void> {
    await this.clock.runUntilIdle();
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
  async #write(write: (view: ClusterView) => Promise<void>): Promise<void> {
    if (!this.isApiUp) await this.clock.waitFor(() => this.isApiUp);
    await this.clock.pauseDuring(write(this.#view));
  }
}
