import type { KubeApi } from '../kube/api.ts';
import { readInstalledProtection } from './installed-protection.ts';
import { assessProtection, type InstalledProtection, type Protection, type TrialResponse } from './protection.ts';
import {
  assertDryRunIsHonored,
  findTrialCandidates,
  type TrialCandidates,
  tryDryRunDeletion,
} from './trial-deletion.ts';

/** The JSON of `verify --output json`. Its keys are a contract: they stay and keep their meaning. */
export interface VerifyReport extends Pick<InstalledProtection, 'webhooks' | 'floor'> {
  /** The address of the API server. */
  readonly server: string;
  readonly protected: boolean;
  readonly by: 'guard' | 'floor' | null;
  readonly explanation: string;
  readonly advice: string;
  /** Null if there is no MachineConfigGuard. */
  readonly mode: string | null;
  /** A config in use and one of its references; null if there is none to try. */
  readonly tried: Readonly<Record<'config' | 'kind' | 'name' | 'field', string>> | null;
  readonly answer: TrialResponse | null;
  /** The trial of an unused config; null if there is none. */
  readonly unused: { readonly config: string; readonly wouldBeDeleted: boolean; readonly message: string } | null;
}

/** A candidate can be deleted between the list and the trial. */
const MAX_ATTEMPTS = 3;

/**
 * Tries to delete a config in use by a dry run and concludes whether it is protected. Deletes nothing.
 *
 * @param onProgress called with the parts of the report as soon as they are known: a webhook that does not answer takes
 *   its whole timeout
 * @throws ClusterAccessError, DryRunError or a TimeoutError
 */
export async function verifyProtection(
  api: KubeApi,
  onProgress: (part: Partial<VerifyReport>) => void,
): Promise<VerifyReport> {
  const installed = await readInstalledProtection(api);
  const common = { server: api.address, ...installed, mode: installed.mode ?? null };
  onProgress(common);
  let unused: VerifyReport['unused'] = null;
  let candidates: TrialCandidates | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    candidates = await findTrialCandidates(api);
    if (attempt === 0 && (candidates.unused ?? candidates.used) !== undefined) await assertDryRunIsHonored(api);
    // The unused config comes first, because it does less harm if a dry run deletes it.
    if (unused === null && candidates.unused !== undefined) {
      unused = await tryUnused(api, candidates.unused);
      if (unused !== null) onProgress({ unused });
    }
    if (candidates.used === undefined) break;
    const { config, reference } = candidates.used;
    const { kind, name, field } = reference;
    const tried = { config, kind, name, field };
    onProgress({ tried });
    const answer = await tryDryRunDeletion(api, candidates.used);
    if (answer === undefined) continue;
    onProgress({ answer });
    return { ...common, ...toReportFields(assessProtection(answer, installed, kind)), tried, answer, unused };
  }
  return { ...common, ...toReportFields(explainMissingTrial(candidates)), tried: null, answer: null, unused };
}

async function tryUnused(
  api: KubeApi,
  candidate: NonNullable<TrialCandidates['unused']>,
): Promise<VerifyReport['unused']> {
  const answer = await tryDryRunDeletion(api, candidate);
  if (answer === undefined) return null;
  return { config: candidate.config, wouldBeDeleted: answer.status < 400, message: answer.message };
}

function toReportFields({ isProtected, by, explanation, advice }: Protection) {
  return { protected: isProtected, by: by ?? null, explanation, advice };
}

function explainMissingTrial(candidates: TrialCandidates | undefined): Protection {
  const common = { isProtected: false, by: undefined };
  if (candidates?.used !== undefined) {
    const explanation = 'there is nothing to try it with: the configs that it was tried with went away meanwhile';
    return { ...common, explanation, advice: 'run it once more' };
  }
  const advice = 'come back once the Machine Config Operator has rolled one out';
  return { ...common, explanation: `there is nothing to try it with: ${whyNoCandidate(candidates)}`, advice };
}

function whyNoCandidate(candidates: TrialCandidates | undefined): string {
  if (candidates === undefined || candidates.configs === 0) return 'there are no rendered MachineConfigs';
  return candidates.overridden > 0
    ? 'every rendered MachineConfig in use has the annotation that allows its deletion, or none is in use'
    : 'no rendered MachineConfig is in use by a node or a pool';
}
