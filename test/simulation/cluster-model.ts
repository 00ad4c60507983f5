import type { ApiObject } from '../../src/kube/api-object.ts';
import type { Referrer } from '../../src/decision/references.ts';
import { BUILDS, NODES, POOLS } from '../../src/references/sources.ts';
import type { Random } from './random.ts';

const MCO = 'machineconfiguration.openshift.io';
const NODE_COUNT = 4;
const POOL_NAMES = ['master', 'worker'] as const;
const GENERATIONS = 6;

interface Node {
  readonly pool: string;
  current: string;
  desired: string;
}

interface Pool {
  spec: string;
  status: string;
  version: number;
}

interface Build {
  readonly config: string;
  done: boolean;
  version: number;
}

/** Since when, in steps, something has used a config without a break; and when something last did. */
interface Use {
  since: number | undefined;
  last: number;
}

/**
 * What is committed in etcd, as far as the guard can see it, and the controllers that change it: a pool renders, hands its config to
 * nodes and builds, nodes move. Kept so small that everything happens to the same few configs.
 */
export class ClusterModel {
  readonly configs = new Set<string>();
  readonly #nodes = new Map<string, Node>();
  readonly #pools = new Map<string, Pool>();
  readonly #builds = new Map<string, Build>();
  readonly #uses = new Map<string, Use>();
  readonly #random: Random;
  #built = 0;

  constructor(random: Random) {
    this.#random = random;
    for (const pool of POOL_NAMES) {
      const first = this.#configOf(pool);
      this.configs.add(first);
      this.#pools.set(pool, { spec: first, status: first, version: 0 });
      for (let index = 0; index < NODE_COUNT; index += 1) {
        this.#nodes.set(`${pool}-${index}`, { pool, current: first, desired: first });
      }
    }
    this.commit(0);
  }

  /** One write of a controller; what it did, for the trace. */
  change(step: number): string {
    const did = this.#write();
    this.commit(step);
    return did;
  }

  /** Takes note of what is in use now. */
  commit(step: number): void {
    const used = new Set(this.referrers().flatMap(hardConfigs));
    for (const [config, use] of this.#uses) {
      if (used.has(config) || use.since === undefined) continue;
      // Until this write.
      use.last = step;
      use.since = undefined;
    }
    for (const config of used) {
      const use = this.#uses.get(config) ?? { since: undefined, last: step };
      use.since ??= step;
      use.last = step;
      this.#uses.set(config, use);
    }
  }

  /** Has something used the config at every moment since that step? */
  usedEverSince(config: string, step: number): boolean {
    const since = this.#uses.get(config)?.since;
    return since !== undefined && since <= step;
  }

  /** Has something used the config at some moment since that step? */
  usedOnceSince(config: string, step: number): boolean {
    const use = this.#uses.get(config);
    return use !== undefined && (use.since !== undefined || use.last >= step);
  }

  /** Configs that exist and that nothing uses. */
  free(): readonly string[] {
    return [...this.configs].filter((config) => this.#uses.get(config)?.since === undefined);
  }

  /** All objects of a collection, as a list has them. */
  objects(collection: string): readonly ApiObject[] {
    if (NODES.paths.includes(collection)) return [...this.#nodes].map(([name, node]) => nodeObject(name, node));
    if (POOLS.paths.includes(collection)) return [...this.#pools].map(([name, pool]) => poolObject(name, pool));
    return [...this.#builds].map(([name, build]) => buildObject(name, build));
  }

  referrers(): readonly Referrer[] {
    return [NODES, POOLS, BUILDS].flatMap((source) =>
      this.objects(source.paths[0] ?? '').map((object) => source.parse(object)),
    );
  }

  #write(): string {
    const [name, node] = this.#random.pick([...this.#nodes]) ?? [];
    const poolName = this.#random.pick(POOL_NAMES) ?? 'worker';
    const pool = this.#pools.get(poolName);
    if (name === undefined || node === undefined || pool === undefined) return 'nothing';
    switch (this.#random.below(8)) {
      case 0: {
        // Renders anew, or back to something older that may be gone and is rendered again under the same name.
        pool.spec = this.#configOf(poolName);
        pool.version += 1;
        this.configs.add(pool.spec);
        return `render ${pool.spec}`;
      }
      case 1:
      case 2:
      case 3:
        // A node is told what its pool wants. Only to a config that exists: the controller looks.
        node.desired = this.#pools.get(node.pool)?.spec ?? node.desired;
        return `desire ${name} ${node.desired}`;
      case 4:
      case 5:
        node.current = node.desired;
        return `move ${name} ${node.current}`;
      case 6: {
        const members = [...this.#nodes.values()].filter((one) => one.pool === poolName);
        if (members.every(({ current }) => current === pool.spec)) pool.status = pool.spec;
        pool.version += 1;
        return `status ${poolName} ${pool.status}`;
      }
      default:
        return this.#build(pool.spec);
    }
  }

  #build(config: string): string {
    const running = [...this.#builds].find(([, { done }]) => !done);
    if (running !== undefined) {
      running[1].done = true;
      running[1].version += 1;
      return `built ${running[0]}`;
    }
    this.#builds.clear();
    this.#built += 1;
    this.#builds.set(`build-${this.#built}`, { config, done: false, version: 0 });
    return `build ${config}`;
  }

  #configOf(pool: string): string {
    return `rendered-${pool}-${String(this.#random.below(GENERATIONS)).padStart(32, '0')}`;
  }
}

function hardConfigs({ references }: Referrer): string[] {
  return references.filter(({ strength }) => strength === 'strong').map(({ config }) => config);
}

function nodeObject(name: string, { current, desired }: Node): ApiObject {
  return { metadata: { name, annotations: { [`${MCO}/currentConfig`]: current, [`${MCO}/desiredConfig`]: desired } } };
}

function poolObject(name: string, { spec, status, version }: Pool): ApiObject {
  return {
    metadata: { name, resourceVersion: String(version) },
    spec: { configuration: { name: spec } },
    status: { configuration: { name: status } },
  };
}

function buildObject(name: string, { config, done, version }: Build): ApiObject {
  const conditions = [{ type: 'Succeeded', status: done ? 'True' : 'False' }];
  const metadata = { name, resourceVersion: String(version) };
  return { metadata, spec: { machineConfig: { name: config } }, status: { conditions } };
}
