import { type ConfigName, findUsedConfigs, isRenderedConfig, type Referrer } from '../decision/references.ts';
import type { WatchedConfig } from '../references/sources.ts';

/**
 * Finds the configs in use whose allow-deletion annotation gives a reason. Somebody may have forgotten it, or planted
 * it with the right to patch alone. Then any prune deletes the config.
 */
export function findOverridesInUse(configs: Iterable<WatchedConfig>, referrers: Iterable<Referrer>): ConfigName[] {
  const overridden = [...configs].filter(({ name, isOverridden }) => isOverridden && isRenderedConfig(name));
  if (overridden.length === 0) return [];
  const used = findUsedConfigs(referrers);
  return overridden.map(({ name }) => name).filter((name) => used.has(name));
}
