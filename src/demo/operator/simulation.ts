import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, NODES_PATH, objectPath, POOLS_PATH } from '../../kube/api-paths.ts';
import { type KubeApi, MERGE_PATCH } from '../../kube/api.ts';
import type { ApiError } from '../../kube/errors.ts';
import { type MachineConfig, renderMachineConfig } from './machine-config.ts';
import { type NodeAnnotations, type NodeView, parseNode, toAnnotations } from './node.ts';
import { buildConfiguration, MASTER_POOL, NEW_MASTER_POOL, parsePool } from './pool.ts';
import { SimulatedClock } from './simulated-clock.ts';

export interface SimulationEvent {
  /** Simulated seconds since the hosts were switched on. */
  readonly t: number;
  readonly actor: string;
  readonly message: string;
  /** The answer to a denied request. */
  readonly denial?: ApiError | undefined;
}

export interface SimulationOptions {
  readonly api: KubeApi;
  /** Simulated seconds in a real second. */
  readonly speed: number;
  /** A master is drained only with this many Ready masters, as etcd's PodDisruptionBudget wants. */
  readonly minMastersToDrain?: number;
  readonly onEvent?: (event: SimulationEvent) => void;
}

export const POOL_PATH = objectPath(POOLS_PATH, MASTER_POOL);
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Pool master of a cluster, its machines and the parts of the Machine Config Operator. They act through the
 * Kubernetes API, so the same code runs on any API server.
 */
export class Simulation extends SimulatedClock {
  /** The config on the disk of each host, by name of the host. */
  readonly disks = new Map<string, MachineConfig>();
  /** The parts of the operator in the cluster start after the first masters have joined. */
  isOperatorUp = false;
  /** After an outage of the API, clients reconnect and sync again. */
  outageCount = 0;
  nodes: readonly NodeView[] = [];
  pool = parsePool(undefined);
  configs: ReadonlyMap<string, MachineConfig> = new Map();
  readonly #options: SimulationOptions;

  constructor(options: SimulationOptions) {
    super(options.speed);
    this.#options = options;
  }

  get canDrain(): boolean {
    return this.nodes.filter(({ ready }) => ready).length >= (this.#options.minMastersToDrain ?? 0);
  }

  /** @throws Error if the node does not exist */
  getNode(name: string): NodeView {
    const node = this.nodes.find((candidate) => candidate.name === name);
    if (node === undefined) throw new Error(`the simulation has no node ${name}`);
    return node;
  }

  record(actor: string, message: string, denial?: ApiError): void {
    this.#options.onEvent?.({ t: Math.round(this.now), actor, message, denial });
  }

  override async run(seconds?: number): Promise<void> {
    await this.#refresh();
    await super.run(seconds);
  }

  async annotateNode(name: string, annotations: Partial<NodeAnnotations>): Promise<void> {
    const metadata = { annotations: toAnnotations(annotations) };
    await this.write('PATCH', objectPath(NODES_PATH, name), { metadata });
  }

  async setReady(name: string, isReady: boolean): Promise<void> {
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
    await this.write('PATCH', `${objectPath(NODES_PATH, name)}/status`, { status: { conditions } });
  }

  /** Renders a config and makes the pool roll it out, as the render controller does. The first one creates the pool. */
  async rollOut(fileContent: string): Promise<MachineConfig> {
    if (this.pool.uid === '') await this.write('POST', POOLS_PATH, NEW_MASTER_POOL);
    const config = renderMachineConfig(fileContent, this.pool.uid);
    await this.write('POST', MACHINE_CONFIGS_PATH, config);
    await this.write('PATCH', POOL_PATH, { spec: { configuration: buildConfiguration(config.metadata.name) } });
    return config;
  }

  /** After each write the actors see the cluster as it is, also what others have written. */
  async write(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<void> {
    const contentType = method === 'PATCH' ? MERGE_PATCH : 'application/json';
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    await this.#options.api.json({ method, path, body, contentType, signal });
    await this.#refresh();
  }

  /** Reads the pool last: `restore` pauses it before it creates a missing config. */
  async #refresh(): Promise<void> {
    const configs = (await this.#list(MACHINE_CONFIGS_PATH)) as readonly MachineConfig[];
    this.configs = new Map(configs.map((config) => [config.metadata.name, config]));
    this.nodes = (await this.#list(NODES_PATH)).map(parseNode);
    this.pool = parsePool((await this.#list(POOLS_PATH)).find(({ metadata }) => metadata?.name === MASTER_POOL));
  }

  async #list(path: string): Promise<readonly ApiObject[]> {
    const list = await this.#options.api.json({ path, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    return (list as { readonly items: readonly ApiObject[] }).items;
  }
}
