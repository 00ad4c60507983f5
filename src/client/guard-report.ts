import { isTimeout } from '../common/wait.ts';
import type { MissingConfigReport } from '../diagnosis/cause.ts';
import type { KubeApi } from '../kube/api.ts';
import { ClusterAccessError, readObject } from './cluster-access.ts';
import { GUARD_PATH } from '../api/paths.ts';
import type { HeldConfig } from '../status/guard-status.ts';

/** The fields that an older guard does not write are absent. */
export interface StoredGuard {
  readonly spec?: unknown;
  readonly status?: {
    readonly version?: string;
    readonly protectedConfigs?: number;
    readonly heldConfigs?: readonly Pick<HeldConfig, 'name' | 'until'>[] | null;
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

/** Until when the guard holds configs, as its status lists them. Without a guard there is no hold. */
export async function readHolds(api: KubeApi, signal: AbortSignal): Promise<ReadonlyMap<string, Date>> {
  const { heldConfigs } = (await readGuard(api, signal))?.status ?? {};
  return new Map((heldConfigs ?? []).map(({ name, until }) => [name, new Date(until)]));
}

/** What the guard says about missing configs. `check` works without it, and without the right to read it. */
export async function readGuardReports(api: KubeApi, signal: AbortSignal) {
  const guard = await readGuard(api, signal).catch((error: unknown) => {
    // After a timeout, the API server hangs, and the next read would wait as long.
    if (!(error instanceof ClusterAccessError) || isTimeout(error.cause)) throw error;
    return undefined;
  });
  const reports = new Map<string, Partial<MissingConfigReport>>();
  const { danglingReferences = [], deletions = {} } = guard?.status ?? {};
  for (const [config, deletion] of Object.entries(deletions)) {
    reports.set(config, {
      deletedAt: toText(deletion?.['time']),
      deletedBy: toText(deletion?.['user']),
      deletionReason: toText(deletion?.['reason']),
    });
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
