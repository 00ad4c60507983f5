import { formatDuration } from '../common/duration.ts';
import { explainHold, findHolds, formatTime } from '../review/hold.ts';
import { isRenderedConfig } from '../mco/machine-config.ts';
import type { HoldStatus } from './guard-status.ts';
import type { StatusInput } from './status-input.ts';

export const NO_HOLDS: HoldStatus = { holdSuperseded: null, heldCount: null, heldConfigs: null };

const MAX_HELD_CONFIGS = 50;

type HoldInput = Pick<StatusInput, 'configs' | 'index' | 'settings' | 'now' | 'history'>;

/** Describes what the guard holds, by the same rule as its answers. */
export function describeHolds({ configs, index, settings, now, history }: HoldInput): HoldStatus {
  const holdMs = settings.holdSupersededMs;
  const unused = [...configs.objects.values()].filter(
    ({ name }) => isRenderedConfig(name) && !index.byConfig.has(name),
  );
  const holders = { pools: index.listPools(), unreportedNodes: index.listUnreportedNodes() };
  const holds = [...findHolds(unused, holders, { ...history, holdMs, now })];
  const longest = holds.toSorted(([a, { until }], [b, other]) => +other.until - +until || (a < b ? -1 : 1));
  return {
    holdSuperseded: formatDuration(holdMs),
    heldCount: holds.length,
    heldConfigs: longest.slice(0, MAX_HELD_CONFIGS).map(([name, hold]) => {
      return { name, pool: hold.pool, until: formatTime(hold.until), reason: explainHold(hold) };
    }),
  };
}
