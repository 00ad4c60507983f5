import { advise } from '../../client/output/advice.ts';
import { ClusterAccessError } from '../../client/cluster-access.ts';
import { readWithRetries } from '../../client/poll.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError, isDeniedByAdmission } from '../../kube/errors.ts';
import type { RestorePlan, StepAction } from './restore-plan.ts';
import { findPool, type RestoreState } from './restore-state.ts';
import { RestoreWrites } from './restore-writes.ts';

const MAX_DENIAL_LENGTH = 1_000;

/**
 * Sends every write of a plan as a dry run, so a missing right or a policy is found before the first write.
 *
 * @returns the plan, rejected if a webhook or a policy denies one of its writes
 */
export async function tryWrites(
  api: KubeApi,
  plan: RestorePlan,
  state: RestoreState,
  signal: AbortSignal,
): Promise<RestorePlan> {
  const { config, pool: poolName, steps } = plan;
  const writes = new RestoreWrites(api, true);
  const pool = findPool(state, poolName);
  let write = '';
  const tryStep = async (action: StepAction, send: () => Promise<void>): Promise<void> => {
    const step = steps.find((candidate) => candidate.action === action);
    if (step === undefined) return;
    write = step.description;
    await send();
  };
  try {
    await readWithRetries(async (limited) => {
      await tryStep('CreateConfig', async () => {
        await writes.createConfig(config, pool, limited).catch((error: unknown) => {
          // Another restore has created it meanwhile. The step looks again.
          if (!isConflict(error)) throw error;
        });
      });
      if (pool === undefined) return;
      await tryStep('PausePool', () => writes.pausePool(pool, config.name, limited));
      await tryStep('SetPoolStatus', () => writes.setPoolStatus(pool, config.name, limited));
      await tryStep('UnpausePool', () => writes.unpausePool(pool, limited));
    }, signal);
    return plan;
  } catch (error) {
    const { cause } = error instanceof ClusterAccessError ? error : {};
    if (!isDeniedByAdmission(cause)) throw error;
    const { message } = cause as ApiError;
    const reason = `the API server denies to ${write}: ${toPrintableLine(message, MAX_DENIAL_LENGTH)}`;
    const advice = advise('change what the policy or webhook asks for, and run the same command again');
    return { ...plan, rejection: { code: 'WriteDenied', reason, advice }, warnings: [], steps: [] };
  }
}

/** The object has changed since it was read, or exists already. */
export function isConflict(error: unknown): boolean {
  const { cause } = error instanceof ClusterAccessError ? error : {};
  return cause instanceof ApiError && cause.status === 409;
}
