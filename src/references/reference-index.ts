import type { Referrer } from '../decision/references.ts';
import type { ConfigName } from '../decision/config-name.ts';
import { ReferrersByConfig } from './referrers-by-config.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { REFERRER_RESOURCES } from './sources.ts';

/** All references as last heard from the watches: quick, possibly late. Only ever used to find a referrer, never to rule one out. */
export class ReferenceIndex {
  readonly #reflectors: readonly Reflector[];
  /** One a kind, in the order of {@link REFERRER_RESOURCES}: what is looked at first, nodes, is read in one small GET. */
  readonly #byConfig: readonly ReferrersByConfig[];

  constructor(options: Pick<ReflectorOptions, 'api' | 'log' | 'timing'>) {
    const kinds = REFERRER_RESOURCES.map((source) => {
      const byConfig = new ReferrersByConfig();
      const onChange = byConfig.update.bind(byConfig);
      return { byConfig, reflector: new Reflector({ ...options, source, onChange }) };
    });
    this.#reflectors = kinds.map(({ reflector }) => reflector);
    this.#byConfig = kinds.map(({ byConfig }) => byConfig);
  }

  /** Has every kind been read completely once since the start? */
  get isSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.isSynced);
  }

  /** Kinds that have not been read yet, for people. */
  get unsynced(): readonly string[] {
    return this.#reflectors.filter((reflector) => !reflector.isSynced).map((reflector) => reflector.source.name);
  }

  /** How long ago each kind was last heard of, in milliseconds: the age of what the index knows. Kinds not read yet are left out. */
  get ages(): readonly { readonly resource: string; readonly ms: number }[] {
    return this.#reflectors.flatMap(({ source, silentMs }) =>
      silentMs === undefined ? [] : [{ resource: source.name, ms: silentMs }],
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
  findReferrers(config: ConfigName): readonly Referrer[] {
    return ([] as Referrer[]).concat(...this.#byConfig.map((byConfig) => byConfig.find(config)));
  }

  /** Follows the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}
