import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { isManagedByOperator } from '../mco/pool-of-node.ts';
import {
  type BuildReferrer,
  isUnreportedNode,
  type PoolReferrer,
  type Referrer,
  type UnreportedNode,
} from '../mco/referrer.ts';
import { BUILDS, NODES, POOLS } from '../mco/resources.ts';
import { ConfigReferrers } from './config-referrers.ts';
import { PoolHistory } from './pool-history.ts';

export type ReferenceIndexOptions = Pick<ReflectorOptions<Referrer>, 'api' | 'log'>;

/** How well the index follows a kind. */
export type FollowedKind = Pick<
  Reflector<Referrer>,
  'contentProblem' | 'isSynced' | 'newestVersion' | 'run' | 'silentMs'
> & { readonly resource: { readonly name: string } };

/**
 * All references, as the watches have delivered them. They can be late, so the index never proves that a config is
 * unused. It counts the referrers of each config when they change, so no look-up visits all of them.
 */
export class ReferenceIndex {
  /** What the watch has seen of the pools. */
  readonly pools = new PoolHistory();
  readonly reflectors: readonly FollowedKind[];
  readonly #byConfig = new Map<ConfigName, ConfigReferrers>();
  readonly #unreported = new Map<string, UnreportedNode>();
  readonly #poolsByName = new Map<string, PoolReferrer>();
  readonly #poolReflector: Reflector<PoolReferrer>;
  readonly #builds: Reflector<BuildReferrer>;

  constructor(options: ReferenceIndexOptions) {
    const onChange = this.update.bind(this);
    this.#poolReflector = new Reflector({ ...options, resource: POOLS, onChange });
    this.#builds = new Reflector({ ...options, resource: BUILDS, onChange });
    this.reflectors = [new Reflector({ ...options, resource: NODES, onChange }), this.#poolReflector, this.#builds];
  }

  get isSynced(): boolean {
    return this.reflectors.every((reflector) => reflector.isSynced);
  }

  /** The newest version that a watch or its list has delivered; undefined before the first list. */
  newestVersion(resource: string): string | undefined {
    return this.reflectors.find((reflector) => reflector.resource.name === resource)?.newestVersion;
  }

  /** The referrers of each config in use: those whose references deny its deletion. */
  get byConfig(): ReadonlyMap<ConfigName, ConfigReferrers> {
    return this.#byConfig;
  }

  /** Undefined if the config is not in use. */
  find(config: ConfigName): ConfigReferrers | undefined {
    return this.#byConfig.get(config);
  }

  listPools(): readonly PoolReferrer[] {
    return [...this.#poolsByName.values()];
  }

  /** Those that the operator manages. */
  listUnreportedNodes(): readonly UnreportedNode[] {
    const pools = this.listPools();
    return [...this.#unreported.values()].filter((node) => isManagedByOperator(node, pools));
  }

  /**
   * Names and versions of all pools and builds at some moment before this call. Undefined unless the index follows both
   * kinds. Equal texts mean that nothing has changed in between, because the API server repeats no version. After a
   * restore of etcd it does, but would have to give the version of the index to a pool that changes during the read.
   */
  formatPoolsAndBuilds(): string | undefined {
    const followed = [this.#poolReflector, this.#builds];
    if (!followed.every(({ state: { phase } }) => phase === 'watching' || phase === 'absent')) return undefined;
    return followed.map(({ objects }) => formatVersions(objects.values())).join(' ');
  }

  /** Runs the watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.reflectors.map(async (reflector) => await reflector.run(signal)));
  }

  /** For the reflectors. `before` is undefined for a new referrer, and `after` for a deleted one. */
  update(before: Referrer | undefined, after: Referrer | undefined, origin: 'list' | 'watch'): void {
    const references = [...(before?.references ?? []), ...(after?.references ?? [])];
    for (const config of new Set(references.map((reference) => reference.config))) {
      const referrers = this.#byConfig.get(config) ?? new ConfigReferrers(config);
      referrers.update(before, after);
      if (referrers.findFirst() === undefined) this.#byConfig.delete(config);
      else this.#byConfig.set(config, referrers);
    }
    if (before?.kind === 'Node') this.#unreported.delete(before.name);
    if (after !== undefined && isUnreportedNode(after)) this.#unreported.set(after.name, after);
    if (after?.kind === 'MachineConfigPool') this.#poolsByName.set(after.name, after);
    else if (before?.kind === 'MachineConfigPool') this.#poolsByName.delete(before.name);
    this.pools.update(before, after, origin);
  }
}

/** `a@1 b@2`, sorted by name. Nodes have no version. */
export function formatVersions(referrers: Iterable<Referrer>): string {
  return [...referrers]
    .map((referrer) => `${referrer.name}@${'version' in referrer ? referrer.version : ''}`)
    .toSorted()
    .join(' ');
}
