import { parseSettings } from '../decision/settings.ts';
import { GUARD_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../common/wait.ts';
import { readObject } from './cluster-access.ts';

/** The fields that an older guard does not write are absent. */
export interface StoredGuard {
  readonly spec?: unknown;
  readonly status?: {
    readonly version?: string;
    readonly protectedConfigs?: number;
    readonly danglingCount?: number;
    readonly danglingReferences?: readonly ({
      readonly config?: unknown;
      readonly explanation?: unknown;
    } | null)[];
    readonly lastDenial?: { readonly time?: string; readonly name?: string; readonly user?: string };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

/** What the MachineConfigGuard says, for `check`. */
export interface GuardReport {
  /** Keyed by missing config. */
  readonly explanations: ReadonlyMap<string, string>;
  /** 0 without a guard. Undefined if the object is unreadable. */
  readonly holdMs: number | undefined;
}

const READ_TIMEOUT_MS = 5_000;

/** Never rejects, because `check` works without a guard and without the right to read it. */
export async function readGuardReport(api: KubeApi, signal: AbortSignal): Promise<GuardReport> {
  const explanations = new Map<string, string>();
  try {
    const guard = (await withTimeout(READ_TIMEOUT_MS, signal, (limited) =>
      readObject(api, GUARD_PATH, 'get', limited),
    )) as StoredGuard | undefined;
    for (const reference of guard?.status?.danglingReferences ?? []) {
      const { config, explanation } = reference ?? {};
      if (typeof config === 'string' && typeof explanation === 'string') explanations.set(config, explanation);
    }
    return { explanations, holdMs: guard === undefined ? 0 : parseSettings(guard).settings.holdSupersededMs };
  } catch {
    return { explanations, holdMs: undefined };
  }
}
