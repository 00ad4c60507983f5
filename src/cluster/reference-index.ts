import type { ConfigName } from '../policy/config-name.ts';
import type { ApiObject, Referrer } from '../policy/referrer.ts';
import { ReferrersByConfig } from './referrers-by-config.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import { SharedUses } from './shared-uses.ts';
import { SOURCES } from './source.ts';

/** All references as last heard from the watches: quick, possibly late. Only ever used to find a referrer, never to rule one out. */
export class ReferenceIndex {
  readonly #reflectors: readonly Reflector[];
  /** One a kind, in the order of {@link SOURCES}: what is looked at first, nodes, is read in one small GET. */
  readonly #byConfig: readonly ReferrersByConfig[];

  constructor(options: Pick<ReflectorOptions, 'api' | 'log' | 'timing'>) {
    const shared = new SharedUses();
    const kinds = SOURCES.map((kind) => {
      const source = { ...kind, read: (object: ApiObject) => shared.share(kind.read(object)) };
      const byConfig = new ReferrersByConfig();
      const onChange = byConfig.change.bind(byConfig);
      return { byConfig, reflector: new Reflector({ ...options, source, onChange }) };
    });
    this.#reflectors = kinds.map(({ reflector }) => reflector);
    this.#byConfig = kinds.map(({ byConfig }) => byConfig);
  }

  /** Has every kind been read completely once since the start? */
  get synced(): boolean {
    return this.#reflectors.every((reflector) => reflector.synced);
  }

  /** Kinds that have not been read yet, for people. */
  get unsynced(): readonly string[] {
    return this.#reflectors.filter((reflector) => !reflector.synced).map((reflector) => reflector.source.resource);
  }

  /** How long ago each kind was last heard of, in milliseconds: the age of what the index knows. Kinds not read yet are left out. */
  get ages(): readonly { readonly resource: string; readonly ms: number }[] {
    return this.#reflectors.flatMap(({ source, silentMs }) =>
      silentMs === undefined ? [] : [{ resource: source.resource, ms: silentMs }],
    );
  }

  /** Every referrer as last heard. */
  *referrers(): Generator<Referrer> {
    for (const reflector of this.#reflectors) yield* reflector.objects();
  }

  /**
   * What names this config, as last heard, and the pools that are being deleted: all that a refusal tells of. It takes as long as there are
   * users, however many nodes there are.
   */
  concerning(config: ConfigName): readonly Referrer[] {
    return ([] as Referrer[]).concat(...this.#byConfig.map((byConfig) => byConfig.concerning(config)));
  }

  /** Follows the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}
