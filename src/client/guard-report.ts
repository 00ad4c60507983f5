import { UNKNOWN_TO_GUARD } from '../diagnosis/diagnose.ts';
import type { MissingConfigReport } from '../diagnosis/problem.ts';
import { parseSettings } from '../decision/settings.ts';
import { GUARD_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../common/wait.ts';
import { isTimeout } from '../kube/errors.ts';
import { ClusterAccessError, readObject } from './cluster-access.ts';

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
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

const READ_TIMEOUT_MS = 5_000;

/** @throws ClusterAccessError, or the signal's reason */
export async function readGuard(api: KubeApi, signal?: AbortSignal): Promise<StoredGuard | undefined> {
  return (await readObject(api, GUARD_PATH, 'get', signal)) as StoredGuard | undefined;
}

/**
 * The hold of the cluster's guard in milliseconds; 0 without a guard.
 *
 * @throws ClusterAccessError, or the signal's reason
 */
export async function readHoldMs(api: KubeApi, signal: AbortSignal): Promise<number> {
  const guard = await readGuard(api, signal);
  return guard === undefined ? 0 : parseSettings(guard).settings.holdSupersededMs;
}

/**
 * Reads what the MachineConfigGuard says about missing configs: nothing without a guard, or without the right to read
 * it, because `check` works without both. Rejects only after a defect of this program, or with the signal's reason.
 */
export async function readGuardReports(
  api: KubeApi,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, MissingConfigReport>> {
  const guard = await withTimeout(READ_TIMEOUT_MS, signal, (limited) => readGuard(api, limited)).catch(
    (error: unknown) => {
      if (error instanceof ClusterAccessError || isTimeout(error)) return undefined;
      throw error;
    },
  );
  const reports = new Map<string, MissingConfigReport>();
  const { danglingReferences = [], deletions = {} } = guard?.status ?? {};
  for (const [config, deletion] of Object.entries(deletions)) {
    const deletedBy = toText(deletion?.['user']);
    reports.set(config, { explanation: null, deletedAt: toText(deletion?.['time']), deletedBy });
  }
  for (const reference of danglingReferences) {
    const config = String(reference?.['config']);
    const { deletedAt, deletedBy } = reports.get(config) ?? UNKNOWN_TO_GUARD;
    const watchedDeletion = toText(reference?.['deletedAt']);
    const explanation = toText(reference?.['explanation']);
    reports.set(config, { explanation, deletedAt: watchedDeletion ?? deletedAt, deletedBy });
  }
  return reports;
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
