import { LRUCache } from 'lru-cache';
import type { ConfigName } from '../decision/config-name.ts';
import type { Reference, Referrer } from '../decision/references.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { ReferrersByConfig } from './referrers-by-config.ts';
import { REFERRER_RESOURCES } from './sources.ts';

/** More combinations than the nodes of a cluster have at the same time. */
const MAX_SHARED_REFERENCES = 2_000;

/** All references as the watches have delivered them, possibly late: it never proves that a config is unused. */
export class ReferenceIndex {
  readonly #reflectors: readonly Reflector<Referrer>[];
  /** One per resource, nodes first: a node is confirmed by one small GET. */
  readonly #referrersByConfig: readonly ReferrersByConfig[];

  constructor(options: Pick<ReflectorOptions<Referrer>, 'api' | 'log' | 'timing'>) {
    const shared = new LRUCache<string, readonly Reference[]>({ max: MAX_SHARED_REFERENCES });
    const indexes = REFERRER_RESOURCES.map((kind) => {
      const resource = { ...kind, parse: (object: ApiObject) => shareReferences(kind.parse(object), shared) };
      const referrers = new ReferrersByConfig();
      const onChange = referrers.update.bind(referrers);
      return { referrers, reflector: new Reflector({ ...options, resource, onChange }) };
    });
    this.#reflectors = indexes.map(({ reflector }) => reflector);
    this.#referrersByConfig = indexes.map(({ referrers }) => referrers);
  }

  /** Whether every resource has been listed since the start. */
  get isSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.isSynced);
  }

  /** The names of the resources that have not been listed since the start. */
  get unsynced(): readonly string[] {
    return this.#reflectors.filter(({ isSynced }) => !isSynced).map(({ resource }) => resource.name);
  }

  /** How long ago the API server last sent something about each listed resource, in milliseconds. */
  get ages(): readonly { readonly resource: string; readonly ms: number }[] {
    return this.#reflectors.flatMap(({ resource, silentMs }) =>
      silentMs === undefined ? [] : [{ resource: resource.name, ms: silentMs }],
    );
  }

  *referrers(): Generator<Referrer> {
    for (const reflector of this.#reflectors) yield* reflector.objects();
  }

  /**
   * The referrers of a config, and the pools that are being deleted: everything that a denial mentions. Its cost
   * depends on the number of referrers, not on the number of nodes.
   */
  findReferrers(config: ConfigName): readonly Referrer[] {
    return this.#referrersByConfig.flatMap((referrers) => referrers.find(config));
  }

  /** Follows the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}

/**
 * Replaces the references by an equal array that other referrers have as well. A denial visits every referrer of a
 * config. With 5,000 nodes it is about a tenth slower if each of them has its own references, because they do not fit
 * into the processor's cache (npm run bench -- --only delete).
 */
function shareReferences(referrer: Referrer, shared: LRUCache<string, readonly Reference[]>): Referrer {
  const key = referrer.references.map(({ field, config, strength }) => `${field} ${config} ${strength}`).join();
  const references = shared.get(key) ?? referrer.references;
  shared.set(key, references);
  return { ...referrer, references };
}
