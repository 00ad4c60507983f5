import type { ConfigName, Referrer } from '../decision/references.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { PoolHistory } from './pool-history.ts';
import { ReferrersByConfig } from './referrers-by-config.ts';
import { REFERRER_RESOURCES } from './sources.ts';

export type ReferenceIndexOptions = Pick<ReflectorOptions<Referrer>, 'api' | 'log' | 'timing'>;

/** All references from the watches. They can be late, so the index never proves that a config is unused. */
export class ReferenceIndex {
  readonly pools = new PoolHistory();
  readonly #byConfig = new ReferrersByConfig();
  readonly #reflectors: readonly Reflector<Referrer>[];

  constructor(options: ReferenceIndexOptions) {
    const onChange: ReflectorOptions<Referrer>['onChange'] = (before, after, origin) => {
      this.#byConfig.update(before, after);
      this.pools.update(before, after, origin);
    };
    this.#reflectors = REFERRER_RESOURCES.map((resource) => new Reflector({ ...options, resource, onChange }));
  }

  /** Whether every resource has been listed since the start. */
  get isSynced(): boolean {
    return this.#reflectors.every((reflector) => reflector.isSynced);
  }

  get unsynced(): readonly string[] {
    return this.#reflectors.filter(({ isSynced }) => !isSynced).map(({ resource }) => resource.name);
  }

  /** Why the objects of the cluster cannot be read, for each kind. */
  get contentProblems(): readonly string[] {
    return this.#reflectors.flatMap(({ contentProblem }) => contentProblem ?? []);
  }

  /** The kinds that a further list may read. */
  get untried(): readonly string[] {
    const untried = this.#reflectors.filter(({ isSynced, contentProblem }) => !isSynced && contentProblem === undefined);
    return untried.map(({ resource }) => resource.name);
  }

  /** Milliseconds since the last message about each listed resource. */
  get ages(): readonly { readonly resource: string; readonly ms: number }[] {
    return this.#reflectors.flatMap(({ resource, silentMs }) =>
      silentMs === undefined ? [] : [{ resource: resource.name, ms: silentMs }],
    );
  }

  /** The newest version that a watch or its list has delivered; undefined before the first list. */
  newestVersion(resource: string): string | undefined {
    return this.#reflectors.find((reflector) => reflector.resource.name === resource)?.newestVersion;
  }

  /** Checks soon whether the API server's versions went back, as after an etcd restore. */
  checkVersions(): void {
    for (const reflector of this.#reflectors) reflector.checkVersion();
  }

  *referrers(): Generator<Referrer> {
    for (const reflector of this.#reflectors) yield* reflector.objects();
  }

  findReferrers(config: ConfigName): readonly Referrer[] {
    return this.#byConfig.find(config);
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}
