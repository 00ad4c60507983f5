import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../kube/wait.ts';

const GUARD = '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster';
/** Nothing waits longer for what decides nothing. */
const READ_MS = 5_000;

/**
 * What the guard of this cluster knows of configs that do not exist: whether they ever did, and when they were deleted. By
 * the name of the config. Empty where there is no guard, it knows nothing, or may not be read. Never rejects.
 */
export async function readGuardExplanations(api: KubeApi, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  try {
    const guard = await withTimeout(
      READ_MS,
      signal,
      async (limited) => await api.json({ path: GUARD, signal: limited }),
    );
    const { status } = (guard ?? {}) as { status?: { danglingReferences?: unknown } | null };
    const references = Array.isArray(status?.danglingReferences)
      ? (status.danglingReferences as readonly unknown[])
      : [];
    return new Map(
      references.flatMap((reference): [string, string][] => {
        const { config, explanation } = (reference ?? {}) as { config?: unknown; explanation?: unknown };
        const known = typeof config === 'string' && typeof explanation === 'string' && explanation !== '';
        return known ? [[config, explanation]] : [];
      }),
    );
  } catch {
    return new Map();
  }
}
