import { isPool, isUnreportedNode, type Referrer, REFERRER_KINDS } from '../mco/referrer.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { isManagedByOperator } from '../mco/pool-of-node.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { REFERRER_RESOURCES } from '../mco/resources.ts';
import { PoolHistory } from './pool-history.ts';

export type ReferenceIndexOptions = Pick<ReflectorOptions<Referrer>, 'api' | 'log' | 'timing'>;

/** All references from the watches. They can be late, so the index never proves that a config is unused. */
export class ReferenceIndex {
  readonly pools = new PoolHistory();
  readonly reflectors: readonly Reflector<Referrer>[];
  readonly #byConfig = new ReferrersByConfig();

  constructor(options: ReferenceIndexOptions) {
    const onChange: ReflectorOptions<Referrer>['onChange'] = (before, after, origin) => {
      this.#byConfig.update(before, after);
      this.pools.update(before, after, origin);
    };
    this.reflectors = REFERRER_RESOURCES.map((resource) => new Reflector({ ...options, resource, onChange }));
  }

  get isSynced(): boolean {
    return this.reflectors.every((reflector) => reflector.isSynced);
  }

  /** The newest version that a watch or its list has delivered; undefined before the first list. */
  newestVersion(resource: string): string | undefined {
    return this.reflectors.find((reflector) => reflector.resource.name === resource)?.newestVersion;
  }

  *referrers(): Generator<Referrer> {
    for (const reflector of this.reflectors) yield* reflector.objects();
  }

  findReferrers(config: ConfigName): readonly Referrer[] {
    return this.#byConfig.find(config);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}

/** A changed referrer keeps its position, so that repeated denials name the same nodes. */
export class ReferrersByConfig {
  readonly #referrers = new Map<ConfigName, Map<string, Referrer>>();
  /** Pools, and nodes without `currentConfig`: the hold and the warnings of each config depend on them. */
  readonly #others = new Map<string, Referrer>();

  constructor(referrers: Iterable<Referrer> = []) {
    for (const referrer of referrers) this.update(undefined, referrer);
  }

  /** `before` is undefined for a new referrer, and `after` for a deleted one. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    for (const { config } of before?.references ?? []) {
      if (before !== undefined && !namesConfig(after, config)) this.#remove(config, toKey(before));
    }
    if (before !== undefined && (after === undefined || !isNeededAlways(after))) this.#others.delete(toKey(before));
    if (after === undefined) return;
    const key = toKey(after);
    if (isNeededAlways(after)) this.#others.set(key, after);
    for (const { config } of after.references) {
      const referrers = this.#referrers.get(config) ?? new Map<string, Referrer>();
      this.#referrers.set(config, referrers.set(key, after));
    }
  }

  /** Returns all that a decision about a config depends on. Nodes come first, because one small GET confirms a node. */
  find(config: ConfigName): readonly Referrer[] {
    const named = [...(this.#referrers.get(config)?.values() ?? [])];
    const others = [...this.#others.values()].filter((referrer) => !namesConfig(referrer, config));
    const pools = [...this.#others.values()].filter(isPool);
    const managed = [...named, ...others].filter((referrer) => isManagedByOperator(referrer, pools));
    return REFERRER_KINDS.flatMap((kind) => managed.filter((referrer) => referrer.kind === kind));
  }

  #remove(config: ConfigName, key: string): void {
    const referrers = this.#referrers.get(config);
    referrers?.delete(key);
    if (referrers?.size === 0) this.#referrers.delete(config);
  }
}

function toKey({ kind, name }: Referrer): string {
  return `${kind}/${name}`;
}

function isNeededAlways(referrer: Referrer): boolean {
  return isPool(referrer) || isUnreportedNode(referrer);
}

function namesConfig(referrer: Referrer | undefined, config: ConfigName): boolean {
  return referrer?.references.some((reference) => reference.config === config) === true;
}
