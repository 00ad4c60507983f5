import type { Referrer } from '../../src/decision/references.ts';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { MCO_GROUP } from '../../src/kube/api-paths.ts';
import { REFERRER_RESOURCES } from '../../src/references/sources.ts';
import type { Random } from './random.ts';

const NODE_COUNT = 2;
/** It leaves and registers again. The guard allows nothing without a node, so the others stay. */
const LEAVING_NODE = 'node-leaving';
const CONFIG_COUNT = 6;
const POOL_NAME = 'worker';

/** A cluster and its controllers. It is so small that the same few configs meet every race. */
export class ClusterModel {
  readonly cluster = new InMemoryCluster();
  /** The configs that exist, with their creation times. */
  readonly configs = new Map<string, Date>();
  readonly #nodes = new Map<string, { readonly current: string; readonly desired: string }>();
  /** For each config in use, the step since which it is. */
  readonly #inUseSince = new Map<string, number>();
  /** For each unused config, the last step in which it was in use. */
  readonly #lastInUse = new Map<string, number>();
  /** For each config, when a pool last named it. */
  readonly #servedUntil = new Map<string, number>();
  #leavingConfig: string | undefined;
  /** Of the pool's condition `Updated`. */
  #updated = { isTrue: true, changedAt: Date.now() };
  /** When the spec and the status of the pool were last changed, as the API server records it in managedFields. */
  readonly #written = { spec: Date.now(), status: Date.now() };
  readonly #random: Random;
  /** The configs in its spec and its status. */
  #pool: { readonly spec: string; readonly status: string };
  #buildCount = 0;
  #isBuilding = false;

  constructor(random: Random) {
    this.#random = random;
    const config = this.#pickConfig();
    this.#createConfig(config);
    this.cluster.create('machineconfigpools', { metadata: { name: POOL_NAME } });
    this.#pool = { spec: config, status: config };
    this.#writePool(config);
    for (let index = 0; index < NODE_COUNT; index += 1) {
      this.cluster.create('nodes', { metadata: { name: `node-${index}` } });
      this.#writeNode(`node-${index}`, config, config);
    }
    this.#recordUse(0);
  }

  /** One write of a controller. */
  writeOnce(step: number): void {
    this.#write();
    this.#recordUse(step);
  }

  /** Whether the config was in use the whole time since that step. */
  wasInUseThroughout(config: string, step: number): boolean {
    return (this.#inUseSince.get(config) ?? Number.POSITIVE_INFINITY) <= step;
  }

  /** Whether the config was in use at some time since that step. */
  wasInUseAtSomeTime(config: string, step: number): boolean {
    return this.isInUse(config) || (this.#lastInUse.get(config) ?? -1) >= step;
  }

  /** When a pool last named the config, in milliseconds. Now, if one does. */
  servedUntil(config: string): number {
    const { spec, status } = this.#pool;
    return spec === config || status === config ? Date.now() : (this.#servedUntil.get(config) ?? 0);
  }

  isInUse(config: string): boolean {
    return this.#inUseSince.has(config);
  }

  referrers(): readonly Referrer[] {
    return REFERRER_RESOURCES.flatMap((resource) => this.cluster.list(resource.name).map(resource.parse));
  }

  #recordUse(step: number): void {
    const references = this.referrers().flatMap((referrer) => referrer.references);
    const strong = references.filter(({ strength }) => strength === 'strong');
    const inUse = new Set(strong.map(({ config }): string => config));
    for (const config of this.#inUseSince.keys()) {
      if (inUse.has(config)) continue;
      this.#inUseSince.delete(config);
      this.#lastInUse.set(config, step);
    }
    for (const config of inUse) if (!this.isInUse(config)) this.#inUseSince.set(config, step);
  }

  #write(): void {
    const [name, { current, desired }] = this.#random.pick([...this.#nodes]);
    const { spec } = this.#pool;
    switch (this.#random.below(10)) {
      case 0: {
        // The name may be that of an older config, which may have been deleted.
        const config = this.#pickConfig();
        this.#createConfig(config);
        this.#writePool(config);
        break;
      }
      case 1:
        // A rollback while a node completes its update: the reference moves from the node to the pool.
        this.#writePool(current);
        this.#writeNode(name, desired, desired);
        break;
      case 2:
      case 3:
        this.#writeNode(name, current, spec);
        break;
      case 4:
      case 5:
        this.#writeNode(name, desired, desired);
        break;
      case 6:
        if ([...this.#nodes.values()].every((node) => node.current === spec)) this.#writePool(spec, spec);
        break;
      case 7:
      case 8:
        this.#moveLeavingNode(spec);
        break;
      default:
        this.#writeBuild(spec);
    }
  }

  #writeNode(name: string, current: string, desired: string): void {
    this.#nodes.set(name, { current, desired });
    this.cluster.patch('nodes', name, { metadata: { annotations: toAnnotations(current, desired) } });
  }

  /** Removes the node, or registers it again with the config on its disk. */
  #moveLeavingNode(spec: string): void {
    const isAway = this.cluster.get('nodes', LEAVING_NODE) === undefined;
    if (isAway && this.#leavingConfig !== undefined && this.#random.chance(0.8)) return;
    if (isAway) {
      const annotations = toAnnotations(this.#leavingConfig ?? spec, this.#leavingConfig ?? spec);
      this.cluster.create('nodes', { metadata: { name: LEAVING_NODE, annotations } });
      this.#leavingConfig ??= spec;
    } else if (this.#random.chance(0.5)) {
      this.#leavingConfig = spec;
      this.cluster.patch('nodes', LEAVING_NODE, { metadata: { annotations: toAnnotations(spec, spec) } });
    } else {
      this.cluster.erase('nodes', LEAVING_NODE);
    }
  }

  #createConfig(config: string): void {
    if (!this.configs.has(config)) this.configs.set(config, new Date(toSecond(Date.now())));
  }

  #writePool(spec: string, status = this.#pool.status): void {
    const before = this.#pool;
    this.#pool = { spec, status };
    // The operator may look at the machines later: then the status moves without a transition.
    const isUpdated = this.#random.chance(0.3) ? this.#updated.isTrue : spec === status;
    if (this.#updated.isTrue !== isUpdated) this.#updated = { isTrue: isUpdated, changedAt: Date.now() };
    if (before.spec !== spec) this.#written.spec = Date.now();
    if (before.status !== status) this.#written.status = Date.now();
    for (const config of [before.spec, before.status]) this.#servedUntil.set(config, Date.now());
    const toTime = (ms: number) => new Date(toSecond(ms)).toISOString();
    const lastTransitionTime = toTime(this.#updated.changedAt);
    const conditions = [{ type: 'Updated', status: isUpdated ? 'True' : 'False', lastTransitionTime }];
    const toConfiguration = (name: string) => ({ configuration: { name } });
    const managedFields = [
      { time: toTime(this.#written.spec), fieldsV1: { 'f:spec': { 'f:configuration': {} } } },
      {
        time: toTime(this.#written.status),
        subresource: 'status',
        fieldsV1: { 'f:status': { 'f:configuration': {} } },
      },
    ];
    this.cluster.patch('machineconfigpools', POOL_NAME, {
      metadata: { managedFields },
      spec: toConfiguration(spec),
      status: { ...toConfiguration(status), conditions },
    });
  }

  /** Ends the running build, else replaces the last build by a new one. */
  #writeBuild(config: string): void {
    const last = `build-${this.#buildCount}`;
    if (this.#isBuilding) {
      const conditions = [{ type: 'Succeeded', status: 'True' }];
      this.cluster.patch('machineosbuilds', last, { status: { conditions } });
    } else {
      if (this.#buildCount > 0) this.cluster.erase('machineosbuilds', last);
      this.#buildCount += 1;
      const metadata = { name: `build-${this.#buildCount}` };
      this.cluster.create('machineosbuilds', { metadata, spec: { machineConfig: { name: config } } });
    }
    this.#isBuilding = !this.#isBuilding;
  }

  #pickConfig(): string {
    return `rendered-${POOL_NAME}-${String(this.#random.below(CONFIG_COUNT)).padStart(32, '0')}`;
  }
}

function toAnnotations(current: string, desired: string) {
  return { [`${MCO_GROUP}/currentConfig`]: current, [`${MCO_GROUP}/desiredConfig`]: desired };
}

/** Kubernetes cuts the fractions of its times. */
function toSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}
