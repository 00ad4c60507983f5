import { assertDryRunIsHonored } from '../../client/write.ts';
import { advise } from '../../client/output/advice.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import { INSTALLED_NAME, MACHINE_CONFIGS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { assessTrial, type TrialResponse } from './assess-trial.ts';
import { type PolicyBinding, readEvidence, type RegisteredWebhook } from './evidence.ts';
import { deriveProtection, type Protection, toFinding } from './protection.ts';
import { findTrialCandidates, tryDryRunDeletion } from './trial-deletion.ts';

/** The JSON of `verify --output json`. Its keys are a contract. What the user may not read is null. */
export interface VerifyReport extends Protection {
  readonly server: string;
  readonly webhooks: readonly RegisteredWebhook[] | null;
  readonly floor: readonly PolicyBinding[] | null;
  readonly mode: string | null;
  /** A config in use and one of its references. */
  readonly tried: Readonly<Record<'config' | 'kind' | 'name' | 'field', string>> | null;
  readonly answer: TrialResponse | null;
  readonly unused: {
    readonly config: string;
    readonly wouldBeDeleted: boolean;
    readonly message: string;
  } | null;
}

const NOTHING_IN_USE =
  'no rendered MachineConfig is in use, apart from those that are terminating or have the allow-deletion annotation';
const ROLL_OUT_ADVICE = advise('verify again when the Machine Config Operator has rolled out a config');

/**
 * Tries to delete a config in use by a dry run.
 *
 * @param namespace the namespace of the guard
 * @throws ClusterAccessError, CliError, or the signal's reason
 */
export async function verifyProtection(
  api: KubeApi,
  namespace: string = INSTALLED_NAME,
  signal = NEVER_ABORTED,
): Promise<VerifyReport> {
  const evidence = await readEvidence(api, namespace, signal);
  const { used, unused } = await findTrialCandidates(api, signal);
  if ((unused ?? used) !== undefined) {
    const deletion = { method: 'DELETE', path: `${MACHINE_CONFIGS_PATH}/` } as const;
    await assertDryRunIsHonored(api, deletion, signal);
  }
  // The unused config comes first: deleting it would do less harm.
  const unusedAnswer = unused && (await tryDryRunDeletion(api, unused, signal));
  const answer = used && (await tryDryRunDeletion(api, used, signal));
  const { mode, webhooks = null, floor = null } = evidence;
  const report = {
    server: api.address,
    webhooks,
    floor,
    mode,
    unused:
      unused && unusedAnswer
        ? { config: unused.config, wouldBeDeleted: unusedAnswer.status < 400, message: unusedAnswer.message }
        : null,
  };
  if (used === undefined || answer === undefined) {
    const reason = used === undefined ? NOTHING_IN_USE : `${used.config} was deleted during the test`;
    return { ...report, ...deriveProtection(toFinding('unknown', reason, ROLL_OUT_ADVICE)), tried: null, answer: null };
  }
  const { kind, name, field } = used.reference;
  const protection = assessTrial(answer, evidence, kind, unusedAnswer);
  return { ...report, ...protection, tried: { config: used.config, kind, name, field }, answer };
}
