import type { Referrer } from '../policy/referrer.ts';
import type { Reflector } from './reflector.ts';

/** All references as last heard from the watches: quick, possibly late. Only ever used to find a referrer, never to rule one out. */
export class ReferenceIndex {
  readonly #reflectors: readonly Reflector[];

  constructor(reflectors: readonly Reflector[]) {
    this.#reflectors = reflectors;
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

  /** Follows the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}
