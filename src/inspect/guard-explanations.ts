import { GUARD_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../kube/wait.ts';

interface StoredGuard {
  readonly status?: {
    readonly danglingReferences?: readonly ({
      readonly config?: unknown;
      readonly explanation?: unknown;
    } | null)[];
  };
}

const READ_TIMEOUT_MS = 5_000;

/** Keyed by missing config. Never rejects. */
export async function readGuardExplanations(
  api: KubeApi,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  try {
    const read = async (readSignal: AbortSignal) => await api.json({ path: GUARD_PATH, signal: readSignal });
    const { status } = (await withTimeout(READ_TIMEOUT_MS, signal, read)) as StoredGuard;
    const explanations = new Map<string, string>();
    for (const reference of status?.danglingReferences ?? []) {
      const { config, explanation } = reference ?? {};
      if (typeof config === 'string' && typeof explanation === 'string') explanations.set(config, explanation);
    }
    return explanations;
  } catch {
    return new Map();
  }
}
