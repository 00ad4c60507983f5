import type { KubeApi } from '../kube/api.ts';
import { readInstalledProtection } from './installed-protection.ts';
import {
  assessProtection,
  type InstalledProtection,
  type Protection,
  toUnprotected,
  type TrialResponse,
} from './protection.ts';
import {
  assertDryRunIsHonored,
  findTrialCandidates,
  type TrialCandidates,
  tryDryRunDeletion,
} from './trial-deletion.ts';

/** The JSON of `verify --output json`. Its keys are a contract. */
export interface VerifyReport extends Protection, Pick<InstalledProtection, 'webhooks' | 'floor'> {
  readonly server: string;
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

/** A candidate can be deleted before the trial. */
const MAX_ATTEMPTS = 3;

/**
 * Tries to delete a config in use by a dry run.
 *
 * @param onProgress gets parts of the report early: a trial can take a webhook's whole timeout
 * @throws ClusterAccessError, DryRunError, TimeoutError
 */
export async function verifyProtection(
  api: KubeApi,
  onProgress: (part: Partial<VerifyReport>) => void,
): Promise<VerifyReport> {
  const installed = await readInstalledProtection(api);
  const commonFields = { server: api.address, ...installed, mode: installed.mode ?? null };
  onProgress(commonFields);
  let unused: VerifyReport['unused'] = null;
  let candidates: TrialCandidates | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    candidates = await findTrialCandidates(api);
    if (attempt === 0 && (candidates.unused ?? candidates.used) !== undefined) await assertDryRunIsHonored(api);
    // The unused config comes first: deleting it would do less harm.
    if (unused === null && candidates.unused !== undefined) {
      const response = await tryDryRunDeletion(api, candidates.unused);
      if (response !== undefined) {
        const { status, message } = response;
        unused = { config: candidates.unused.config, wouldBeDeleted: status < 400, message };
        onProgress({ unused });
      }
    }
    if (candidates.used === undefined) break;
    const { config, reference } = candidates.used;
    const { kind, name, field } = reference;
    const tried = { config, kind, name, field };
    onProgress({ tried });
    const answer = await tryDryRunDeletion(api, candidates.used);
    if (answer === undefined) continue;
    onProgress({ answer });
    return { ...commonFields, ...assessProtection(answer, installed, kind), tried, answer, unused };
  }
  return { ...commonFields, ...explainMissingTrial(candidates), tried: null, answer: null, unused };
}

function explainMissingTrial(candidates: TrialCandidates | undefined): Protection {
  let reason = 'no rendered MachineConfig is in use by a node or a pool';
  let advice = 'run verify again when the Machine Config Operator has rolled out a config';
  if (candidates?.used !== undefined) {
    reason = 'every tested config was deleted during the test';
    advice = 'run verify again';
  } else if (candidates === undefined || candidates.configCount === 0) {
    reason = 'no rendered MachineConfigs found';
  } else if (candidates.overriddenCount > 0) {
    reason = 'no rendered MachineConfig is in use, except those with the allow-deletion annotation';
  }
  return toUnprotected('UNKNOWN', reason, advice);
}
