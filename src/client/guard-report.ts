import type { MissingConfigReport } from '../diagnosis/cause.ts';
import { parseSettings } from '../api/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import { ClusterAccessError, readObject } from './cluster-access.ts';
import { GUARD_PATH } from '../api/paths.ts';
import { parseDuration } from '../common/duration.ts';
import { API_TIME_RESOLUTION_MS, type UseHistory } from '../review/hold.ts';
import type { HoldStatus } from '../status/guard-status.ts';

/** The fields that an older guard does not write are absent. */
export interface StoredGuard {
  readonly spec?: unknown;
  readonly status?: {
    readonly version?: string;
    readonly protectedConfigs?: number;
    readonly danglingCount?: number;
    readonly danglingReferences?: readonly (Readonly<Record<string, unknown>> | null)[];
    readonly deletions?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;
    readonly lastDenial?: { readonly time?: string; readonly name?: string; readonly user?: string };
    readonly conditions?: readonly Readonly<Record<'type' | 'status' | 'reason' | 'message', string>>[];
  };
}

export async function readGuard(api: KubeApi, signal?: AbortSignal): Promise<StoredGuard | undefined> {
  return await readObject(api, GUARD_PATH, 'get', signal);
}

/** The hold of the cluster's guard, and what it has seen. Without a guard there is no hold. */
export async function readHold(api: KubeApi, signal: AbortSignal) {
  const guard = await readGuard(api, signal);
  if (guard === undefined) return { holdMs: 0 };
  const holdMs = parseSettings(guard).holdSupersededMs;
  return { holdMs, findLastUse: createFindLastUse(guard.status, holdMs) };
}

/** What the guard says about missing configs. `check` works without it, and without the right to read it. */
export async function readGuardReports(api: KubeApi, signal: AbortSignal) {
  const guard = await readGuard(api, signal).catch((error: unknown) => {
    if (error instanceof ClusterAccessError) return undefined;
    throw error;
  });
  const reports = new Map<string, Partial<MissingConfigReport>>();
  const { danglingReferences = [], deletions = {} } = guard?.status ?? {};
  for (const [config, deletion] of Object.entries(deletions)) {
    reports.set(config, { deletedAt: toText(deletion?.['time']), deletedBy: toText(deletion?.['user']) });
  }
  for (const reference of danglingReferences) {
    const config = String(reference?.['config']);
    const deletedAt = toText(reference?.['deletedAt']);
    const explanation = toText(reference?.['explanation']);
    reports.set(config, { ...reports.get(config), explanation, ...(deletedAt !== null && { deletedAt }) });
  }
  return reports;
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Clients compute the holds of the guard by what the status of any version tells about the last naming of a config. */
export function createFindLastUse(status: unknown, holdMs: number): NonNullable<UseHistory['findLastUse']> {
  const { holdSuperseded, heldCount, heldConfigs, watchedPools } = (status ?? {}) as Partial<HoldStatus>;
  const versions = new Map((watchedPools ?? []).map(({ name, resourceVersion }) => [name, resourceVersion]));
  const ends = new Map((heldConfigs ?? []).map(({ name, until }) => [name, Date.parse(until)]));
  const isComplete = ends.size === heldCount && parseDuration(holdSuperseded ?? '') === holdMs;
  return ({ name, version }, config) => {
    // The guard has not seen this version of the pool, or knows less than the status could list.
    if (!isComplete || version === undefined || versions.get(name) !== version) return undefined;
    // The rule adds both again.
    const untilMs = ends.get(config);
    return { at: new Date(untilMs === undefined ? 0 : untilMs - holdMs - API_TIME_RESOLUTION_MS), isSeen: true };
  };
}
