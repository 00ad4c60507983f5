import { type ConfigName, hasStrongReference, isRenderedConfig, type Referrer } from '../decision/references.ts';
import type { WatchedConfig } from '../references/sources.ts';

/** The oldest comes first. */
export function findUnusedConfigs(configs: readonly WatchedConfig[], referrers: readonly Referrer[]) {
  const isUsed = (name: ConfigName): boolean => referrers.some((referrer) => hasStrongReference(name, referrer));
  return configs
    .filter(({ name }) => isRenderedConfig(name) && !isUsed(name))
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.name < b.name ? -1 : 1));
}
