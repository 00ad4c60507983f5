import { isPool, type PoolReferrer, type Referrer } from '../decision/references.ts';

/** A restore takes minutes, unless it waits for a machine. One that was killed leaves its pool paused. */
const MAX_RESTORE_MS = 3_600_000;

/** Finds the pools that have been paused for a restore for longer than an hour. */
export function findStalledRestores(referrers: Iterable<Referrer>, now: Date): PoolReferrer[] {
  const isStalled = (since: Date | undefined) =>
    since === undefined || now.getTime() - since.getTime() > MAX_RESTORE_MS;
  return [...referrers].filter(isPool).filter(({ pausedForRestore: restore }) => restore && isStalled(restore.since));
}
