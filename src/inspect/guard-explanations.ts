import { GUARD_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../kube/wait.ts';

/** Explanations decide nothing, so the check does not wait longer for them. */
const READ_TIMEOUT_MS = 5_000;

/**
 * Reads what the guard of this cluster knows about missing configs from the status of its MachineConfigGuard: whether a
 * config ever existed and when it was deleted. Keyed by config. Empty if the status cannot be read. Never rejects.
 */
export async function readGuardExplanations(api: KubeApi, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  try {
    const guard = await withTimeout(READ_TIMEOUT_MS, signal, (limited) =>
      api.json({ path: GUARD_PATH, signal: limited }),
    );
    const { status } = (guard ?? {}) as { status?: { danglingReferences?: unknown } | null };
    const references: unknown = status?.danglingReferences;
    const explanations = new Map<string, string>();
    for (const reference of Array.isArray(references) ? (references as readonly unknown[]) : []) {
      const { config, explanation } = (reference ?? {}) as { config?: unknown; explanation?: unknown };
      if (typeof config !== 'string' || typeof explanation !== 'string' || explanation === '') continue;
      explanations.set(config, explanation);
    }
    return explanations;
  } catch {
    return new Map();
  }
}
