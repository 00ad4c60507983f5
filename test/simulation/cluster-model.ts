import type { Referrer } from '../../src/decision/references.ts';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { MCO_GROUP } from '../../src/kube/api-paths.ts';
import { REFERRER_RESOURCES } from '../../src/references/sources.ts';
import type { Random } from './random.ts';

const NODE_COUNT = 2;
const CONFIG_COUNT = 6;
const POOL_NAME = 'worker';

interface Node {
  readonly current: string;
  readonly desired: string;
}

interface Pool {
  readonly spec: string;
  readonly status: string;
}

/**
 * A cluster and the controllers that change it: a pool renders a config and hands it to nodes and builds, and nodes
 * update. It is so small that the same few configs meet every race.
 */
export class ClusterModel {
  readonly cluster = new InMemoryCluster();
  /** The configs that exist. */
  readonly configs = new Set<string>();
  readonly #nodes = new Map<string, Node>();
  /** For each config in use, the step since which it is. */
  readonly #inUseSince = new Map<string, number>();
  /** For each config that went out of use, the last step in which it was in use. */
  readonly #lastInUse = new Map<string, number>();
  readonly #random: Random;
  #pool: Pool;
  #build: { readonly name: string; readonly isRunning: boolean } | undefined;
  #buildCount = 0;

  constructor(random: Random) {
    this.#random = random;
    const config = this.#pickConfig();
    this.configs.add(config);
    this.#pool = { spec: config, status: config };
    this.cluster.create('machineconfigpools', { metadata: { name: POOL_NAME } });
    this.#writePool(this.#pool);
    for (let index = 0; index < NODE_COUNT; index += 1) {
      this.cluster.create('nodes', { metadata: { name: `node-${index}` } });
      this.#writeNode(`node-${index}`, { current: config, desired: config });
    }
    this.#recordUse(0);
  }

  /** One write of a controller. */
  writeOnce(step: number): void {
    this.#writeAnything();
    this.#recordUse(step);
  }

  /** Whether the config was in use the whole time since that step. */
  wasInUseThroughout(config: string, step: number): boolean {
    return (this.#inUseSince.get(config) ?? Number.POSITIVE_INFINITY) <= step;
  }

  /** Whether the config was in use at some time since that step. */
  wasInUseAtSomeTime(config: string, step: number): boolean {
    return this.#inUseSince.has(config) || (this.#lastInUse.get(config) ?? -1) >= step;
  }

  /** The existing configs that are unused. */
  unusedConfigs(): readonly string[] {
    return [...this.configs].filter((config) => !this.#inUseSince.has(config));
  }

  referrers(): readonly Referrer[] {
    return REFERRER_RESOURCES.flatMap((resource) => this.cluster.list(resource.name).map(resource.parse));
  }

  #recordUse(step: number): void {
    const references = this.referrers().flatMap((referrer) => referrer.references);
    const strong = references.filter(({ strength }) => strength === 'strong');
    const inUse = new Set<string>(strong.map(({ config }) => config));
    for (const config of this.#inUseSince.keys()) {
      if (inUse.has(config)) continue;
      this.#inUseSince.delete(config);
      this.#lastInUse.set(config, step);
    }
    for (const config of inUse) if (!this.#inUseSince.has(config)) this.#inUseSince.set(config, step);
  }

  #writeAnything(): void {
    const [name, node] = this.#random.pick([...this.#nodes]);
    const { spec } = this.#pool;
    switch (this.#random.below(8)) {
      case 0: {
        // A new config, or an older one that may have been deleted and is rendered again under the same name.
        const config = this.#pickConfig();
        this.configs.add(config);
        this.#writePool({ ...this.#pool, spec: config });
        break;
      }
      case 1:
        // A rollback to the config of a node that just completes its update: the reference moves to the pool.
        this.#writePool({ ...this.#pool, spec: node.current });
        this.#writeNode(name, { ...node, current: node.desired });
        break;
      case 2:
      case 3:
        this.#writeNode(name, { ...node, desired: spec });
        break;
      case 4:
      case 5:
        this.#writeNode(name, { ...node, current: node.desired });
        break;
      case 6: {
        const isUpdated = [...this.#nodes.values()].every(({ current }) => current === spec);
        this.#writePool(isUpdated ? { spec, status: spec } : this.#pool);
        break;
      }
      default:
        this.#writeBuild(spec);
    }
  }

  #writeNode(name: string, node: Node): void {
    this.#nodes.set(name, node);
    const { current, desired } = node;
    const annotations = { [`${MCO_GROUP}/currentConfig`]: current, [`${MCO_GROUP}/desiredConfig`]: desired };
    this.cluster.patch('nodes', name, { metadata: { annotations } });
  }

  #writePool(pool: Pool): void {
    this.#pool = pool;
    const [spec, status] = [pool.spec, pool.status].map((config) => ({ configuration: { name: config } }));
    this.cluster.patch('machineconfigpools', POOL_NAME, { spec, status });
  }

  /** Ends the running build, else replaces the last build by a new one. */
  #writeBuild(config: string): void {
    const last = this.#build;
    if (last?.isRunning === true) {
      this.#build = { ...last, isRunning: false };
      const conditions = [{ type: 'Succeeded', status: 'True' }];
      this.cluster.patch('machineosbuilds', last.name, { status: { conditions } });
      return;
    }
    if (last !== undefined) this.cluster.erase('machineosbuilds', last.name);
    this.#buildCount += 1;
    const name = `build-${this.#buildCount}`;
    this.#build = { name, isRunning: true };
    this.cluster.create('machineosbuilds', { metadata: { name }, spec: { machineConfig: { name: config } } });
  }

  #pickConfig(): string {
    return `rendered-${POOL_NAME}-${String(this.#random.below(CONFIG_COUNT)).padStart(32, '0')}`;
  }
}
