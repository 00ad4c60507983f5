import { type ConfigName, hasStrongReference, isRenderedConfig, type Referrer } from '../decision/references.ts';
import { findHold, type Hold } from '../decision/hold.ts';
import type { HoldableConfig } from '../decision/verdict.ts';
import type { WatchedConfig } from '../references/sources.ts';

/** What decides holds, beside the configs. */
interface HoldFacts {
  /** All configs of the cluster. */
  readonly configs: readonly WatchedConfig[];
  readonly referrers: readonly Referrer[];
  /** By the clock of the API server, when it listed the referrers. */
  readonly at: Date;
  readonly holdMs: number;
}

/** The oldest comes first. */
export function findUnusedConfigs({ configs, referrers }: Pick<HoldFacts, 'configs' | 'referrers'>) {
  const isUsed = (name: ConfigName): boolean => referrers.some((referrer) => hasStrongReference(name, referrer));
  return configs
    .filter(({ name }) => isRenderedConfig(name) && !isUsed(name))
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.name < b.name ? -1 : 1));
}

/** The holds of unused configs, by the rule of the guard. */
export function findHolds(
  unused: readonly HoldableConfig[],
  { configs, referrers, at, holdMs }: HoldFacts,
): ReadonlyMap<ConfigName, Hold> {
  const created = new Map(configs.map(({ name, createdAt }) => [name, createdAt]));
  const options = { holdMs, now: at, createdAt: (name: ConfigName) => created.get(name) };
  const holds = new Map<ConfigName, Hold>();
  for (const config of unused) {
    const hold = findHold(config, referrers, options);
    if (hold !== undefined) holds.set(config.name, hold);
  }
  return holds;
}
