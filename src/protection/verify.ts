import { setTimeout } from 'node:timers/promises';
import { INSTALLED_NAME } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { isRetryableRead } from '../inspect/cluster-access.ts';
import { type PollOptions, pollUntilSettled } from '../inspect/poll.ts';
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
const UNVERIFIED_PAUSE_MS = 1_000;

/**
 * Tries to delete a config in use by a dry run.
 *
 * @param namespace the namespace of the guard
 * @param onProgress gets parts of the report early: a trial can take a webhook's whole timeout
 * @throws ClusterAccessError, DryRunError, TimeoutError
 */
export async function verifyProtection(
  api: KubeApi,
  onProgress: (part: Partial<VerifyReport>) => void,
  namespace: string = INSTALLED_NAME,
): Promise<VerifyReport> {
  const evidence = await readEvidence(api, namespace);
  const commonFields = {
    server: api.address,
    webhooks: evidence.webhooks,
    floor: evidence.floor,
    mode: evidence.mode ?? null,
    deployment: evidence.deployment ?? null,
  };
  onProgress(commonFields);
  let unused: VerifyReport['unused'] = null;
  let unusedAnswer: TrialResponse | null = null;
  let reportedConfig: string | undefined;
  let candidates: TrialCandidates | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const isLast = attempt === MAX_ATTEMPTS - 1;
    candidates = await findTrialCandidates(api);
    if (attempt === 0 && (candidates.unused ?? candidates.used) !== undefined) await assertDryRunIsHonored(api);
    // The unused config comes first: deleting it would do less harm.
    if (unusedAnswer === null && candidates.unused !== undefined) {
      const response = await tryDryRunDeletion(api, candidates.unused);
      if (response !== undefined && !isLast && isUnverified(response.message)) {
        await setTimeout(UNVERIFIED_PAUSE_MS);
        continue;
      }
      if (response !== undefined) {
        const { status, message } = response;
        unusedAnswer = response;
        unused = { config: candidates.unused.config, wouldBeDeleted: status < 400, message };
        onProgress({ unused });
      }
    }
    if (candidates.used === undefined) break;
    const { config, reference } = candidates.used;
    const { kind, name, field } = reference;
    const tried = { config, kind, name, field };
    if (config !== reportedConfig) onProgress({ tried });
    reportedConfig = config;
    const answer = await tryDryRunDeletion(api, candidates.used);
    if (answer === undefined) continue;
    if (!isLast && isUnverified(answer.message)) {
      await setTimeout(UNVERIFIED_PAUSE_MS);
      continue;
    }
    onProgress({ answer });
    const protection = assessProtection(answer, evidence, kind, unusedAnswer);
    return { ...commonFields, ...protection, tried, answer, unused };
  }
  return { ...commonFields, ...explainMissingTrial(candidates), tried: null, answer: null, unused };
}

/**
 * Verifies repeatedly until the state is PROTECTED, until the timeout, or until the mode shows that waiting does not
 * help. Returns the last report.
 *
 * @param namespace the namespace of the guard
 * @throws ClusterAccessError, DryRunError, TimeoutError
 */
export async function waitForProtection(
  api: KubeApi,
  options: Pick<PollOptions<VerifyReport>, 'onAnswer' | 'onFailure' | 'timeoutMs'>,
  namespace?: string,
): Promise<VerifyReport> {
  const { answer } = await pollUntilSettled({
    ...options,
    read: async () => await verifyProtection(api, () => {}, namespace),
    isSettled: (report) => report.protected || (report.mode !== null && report.mode !== 'Enforce'),
    retryUntilMs: (error) => (isRetryableRead(error) ? options.timeoutMs : 0),
  });
  return answer;
}

function explainMissingTrial(candidates: TrialCandidates | undefined): Protection {
  let reason = 'no rendered MachineConfig is in use by a node or a pool';
  let advice = 'run verify again when the Machine Config Operator has rolled out a config';
  if (candidates?.used !== undefined) {
    reason = 'every tested config was deleted during the test';
    advice = 'run verify again';
  } else if (candidates === undefined || candidates.configCount === 0) {
    reason = 'no rendered MachineConfigs found';
  } else if (candidates.skippedCount > 0) {
    reason =
      'no rendered MachineConfig is in use, except those that are terminating or have the allow-deletion annotation';
  }
  return toUnprotected('UNKNOWN', reason, advice);
}
