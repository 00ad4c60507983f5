import { formatDuration, parseDuration, toSeconds } from '../common/duration.ts';
import { API_TIME_RESOLUTION_MS, findHolds, type HoldFacts } from '../decision/hold.ts';
import { explainHold, formatTime } from '../decision/message.ts';
import { type ConfigName, findUsedConfigs, isRenderedConfig } from '../decision/references.ts';
import type { StatusSources } from './describe-status.ts';

export interface HoldStatus {
  readonly holdSuperseded: string;
  readonly heldCount: number;
  /** Those that are held the longest. Times are RFC 3339. */
  readonly heldConfigs: readonly Readonly<Record<'name' | 'pool' | 'until' | 'reason', string>>[];
  /** The versions of the pools that the guard has seen last, and since when it has seen all. */
  readonly watchedPools: readonly Readonly<Record<'name' | 'resourceVersion' | 'since', string>>[];
}

export const NO_HOLDS = { holdSuperseded: null, heldCount: null, heldConfigs: null, watchedPools: null };

const MAX_HELD_CONFIGS = 50;
const MAX_POOLS = 100;

/** Describes what the guard holds, by the same rule as its answers. */
export function describeHolds(
  sources: Pick<StatusSources, 'configs' | 'index' | 'settings' | 'now' | 'facts'>,
): HoldStatus {
  const { configs, index, settings, now, facts } = sources;
  const holdMs = settings.holdSupersededMs;
  const referrers = [...index.referrers()];
  const used = findUsedConfigs(referrers);
  const unused = [...configs.objects()].filter(({ name }) => isRenderedConfig(name) && !used.has(name));
  const holds = [...findHolds(unused, referrers, { ...facts, holdMs, now })];
  const longest = holds.toSorted(([a, { until }], [b, other]) => +other.until - +until || (a < b ? -1 : 1));
  return {
    holdSuperseded: formatDuration(holdMs),
    heldCount: holds.length,
    heldConfigs: longest.slice(0, MAX_HELD_CONFIGS).map(([name, hold]) => {
      return { name, pool: hold.pool, until: formatTime(hold.until), reason: explainHold(hold) };
    }),
    watchedPools: index.pools
      .list()
      .slice(0, MAX_POOLS)
      .map(({ name, version, since }) => ({ name, resourceVersion: version, since: toSeconds(since) })),
  };
}

/**
 * What the status tells about the last naming of a config, so that clients compute the holds of the guard.
 *
 * @param status of any version of the guard, or undefined if it has none
 */
export function createFindLastNaming(status: unknown, holdMs: number): NonNullable<HoldFacts['findLastNaming']> {
  const { holdSuperseded = '', heldCount, heldConfigs, watchedPools } = (status ?? {}) as Partial<HoldStatus>;
  const versions = new Map(watchedPools?.map(({ name, resourceVersion }) => [name, resourceVersion]));
  const ends = new Map(heldConfigs?.map(({ name, until }) => [name as ConfigName, Date.parse(until)]));
  const isComplete = ends.size === heldCount && parseDuration(holdSuperseded) === holdMs;
  return ({ name, version }, config) => {
    // The guard has not seen this version of the pool, or knows less than the status could list.
    if (!isComplete || version === undefined || versions.get(name) !== version) return undefined;
    // The rule adds both again.
    const untilMs = ends.get(config);
    return { at: new Date(untilMs === undefined ? 0 : untilMs - holdMs - API_TIME_RESOLUTION_MS), isSeen: true };
  };
}
