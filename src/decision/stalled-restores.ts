import type { Referrer } from './references.ts';

/** A restore takes minutes, unless it waits for a machine. One that was killed leaves its pool paused. */
const MAX_RESTORE_MS = 3_600_000;

/** Finds the pools that have been paused for a restore for longer than an hour. */
export function findStalledRestores(referrers: Iterable<Referrer>, now: Date): Referrer[] {
  const stalled: Referrer[] = [];
  for (const referrer of referrers) {
    const { pausedForRestore } = referrer;
    if (pausedForRestore === undefined) continue;
    const { since } = pausedForRestore;
    if (since === undefined || now.getTime() - since.getTime() > MAX_RESTORE_MS) stalled.push(referrer);
  }
  return stalled;
}
