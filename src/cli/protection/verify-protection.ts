import { setTimeout } from 'node:timers/promises';
import { INSTALLED_NAME } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { isRetryableRead } from '../../client/cluster-access.ts';
import { advise } from '../../client/output/advice.ts';
import { type PollOptions, pollUntilSettled } from '../../client/poll.ts';
import { assessProtection, isUnverified, type TrialResponse } from './assess-trial.ts';
import { type Protection, toUnprotected } from './diagnosis.ts';
import { type DeploymentState, type Evidence, readEvidence } from './evidence.ts';
import {
  assertDryRunIsHonored,
  findTrialCandidates,
  type TrialCandidates,
  tryDryRunDeletion,
} from './trial-deletion.ts';

/** The JSON of `verify --output json`. Its keys are a contract. */
export interface VerifyReport extends Protection, Pick<Evidence, 'webhooks' | 'floor'> {
  readonly server: string;
  readonly mode: string | null;
  readonly deployment: DeploymentState | null;
  /** A config in use and one of its references. */
  readonly tried: Readonly<Record<'config' | 'kind' | 'name' | 'field', string>> | null;
  readonly answer: TrialResponse | null;
  readonly unused: {
    readonly config: string;
    readonly wouldBeDeleted: boolean;
    readonly message: string;
  } | null;
}

/** A candidate can be deleted before the trial, and a guard can recover from MCG_UNVERIFIED. */
const MAX_ATTEMPTS = 3;
const RETRY_PAUSE_MS = 1_000;
const RETRY_ADVICE = advise('verify again');

/**
 * Tries to delete a config in use by a dry run.
 *
 * @param namespace the namespace of the guard
 * @throws ClusterAccessError, CliError, TimeoutError
 */
export async function verifyProtection(api: KubeApi, namespace: string = INSTALLED_NAME): Promise<VerifyReport> {
  const evidence = await readEvidence(api, namespace);
  for (let attempt = 1; ; attempt += 1) {
    const candidates = await findTrialCandidates(api);
    const { used, unused } = candidates;
    if (attempt === 1 && (unused ?? used) !== undefined) await assertDryRunIsHonored(api);
    // The unused config comes first: deleting it would do less harm.
    const unusedAnswer = unused && (await tryDryRunDeletion(api, unused));
    const isUnusedUnverified = unusedAnswer !== undefined && isUnverified(unusedAnswer.message);
    const isLast = attempt === MAX_ATTEMPTS;
    const answer = used && (isLast || !isUnusedUnverified) ? await tryDryRunDeletion(api, used) : undefined;
    if (!isLast && used !== undefined && (answer === undefined || isUnverified(answer.message))) {
      await setTimeout(RETRY_PAUSE_MS);
      continue;
    }
    const protection =
      used === undefined || answer === undefined
        ? explainMissingTrial(candidates)
        : assessProtection(answer, evidence, used.reference.kind, unusedAnswer ?? null);
    return {
      server: api.address,
      webhooks: evidence.webhooks,
      floor: evidence.floor,
      mode: evidence.mode ?? null,
      deployment: evidence.deployment ?? null,
      ...protection,
      tried: answer && used ? describeTrial(used) : null,
      answer: answer ?? null,
      unused:
        unused && unusedAnswer
          ? {
              config: unused.config,
              wouldBeDeleted: unusedAnswer.status < 400,
              message: unusedAnswer.message,
            }
          : null,
    };
  }
}

function describeTrial({ config, reference: { kind, name, field } }: NonNullable<TrialCandidates['used']>) {
  return { config, kind, name, field };
}

/**
 * Verifies repeatedly until the state is PROTECTED, until the timeout, or until the mode shows that waiting does not
 * help. Returns the last report.
 *
 * @param namespace the namespace of the guard
 * @throws ClusterAccessError, CliError, TimeoutError
 */
export async function waitForProtection(
  api: KubeApi,
  options: Pick<PollOptions<VerifyReport>, 'onAnswer' | 'onFailure' | 'timeoutMs'>,
  namespace?: string,
): Promise<VerifyReport> {
  const { answer } = await pollUntilSettled({
    ...options,
    read: async () => await verifyProtection(api, namespace),
    isSettled: (report) => report.protected || (report.mode !== null && report.mode !== 'Enforce'),
    retryUntilMs: (error) => (isRetryableRead(error) ? options.timeoutMs : 0),
  });
  return answer;
}

function explainMissingTrial({ used, configCount, skippedCount }: TrialCandidates): Protection {
  if (used !== undefined)
    return toUnprotected('UNKNOWN', 'every tested config was deleted during the test', RETRY_ADVICE);
  const exception = 'except those that are terminating or have the allow-deletion annotation';
  const notInUse = 'no rendered MachineConfig is in use';
  return toUnprotected(
    'UNKNOWN',
    configCount === 0
      ? 'no rendered MachineConfigs found'
      : skippedCount > 0
        ? `${notInUse}, ${exception}`
        : `${notInUse} by a node or a pool`,
    advise('verify again when the Machine Config Operator has rolled out a config'),
  );
}
