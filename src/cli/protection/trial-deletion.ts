import { hasAnswered } from '../../client/cluster-access.ts';
import { listAll, readReferrers } from '../../client/cluster-reader.ts';
import { sendWrite, toDeletion } from '../../client/write.ts';
import { type ConfigName, isRenderedConfig, REFERRER_KINDS, summarizeReferences } from '../../decision/references.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../decision/settings.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { MACHINE_CONFIGS } from '../../references/sources.ts';
import { isAnswerOfAdmission, type TrialResponse } from './assess-trial.ts';

interface Candidate {
  readonly config: ConfigName;
  readonly uid: string;
}

/**
 * Finds a config in use, preferably by a node, and an unused one. Skips configs that have the allow-deletion annotation
 * or are terminating: their deletion shows nothing.
 *
 * @throws ClusterAccessError, or the signal's reason
 */
export async function findTrialCandidates(api: KubeApi, signal: AbortSignal) {
  const { referrers } = await readReferrers(api, signal);
  const candidates = (await listAll(api, MACHINE_CONFIGS, parseCandidate, signal)).flat();
  const references = candidates.flatMap(({ config, uid }) => {
    const { strong } = summarizeReferences(config, referrers, 1);
    return strong.references.map((reference) => ({ config, uid, reference }));
  });
  // Builds come last, because only the guard protects their configs.
  const [used] = REFERRER_KINDS.flatMap((kind) => references.filter(({ reference }) => reference.kind === kind));
  const unused = candidates.find(({ config }) => !references.some((candidate) => candidate.config === config));
  return { used, unused };
}

function parseCandidate(object: ApiObject): Candidate[] {
  const { name: config, uid, isTerminating } = MACHINE_CONFIGS.parse(object);
  const isOverridden = object.metadata?.annotations?.[ALLOW_DELETION_ANNOTATION] !== undefined;
  return isTerminating || isOverridden || !isRenderedConfig(config) ? [] : [{ config, uid }];
}

/**
 * @returns the answer of a webhook or a policy, or undefined if the object was deleted or replaced before
 * @throws ClusterAccessError for another answer, or the signal's reason
 */
export async function tryDryRunDeletion(
  api: KubeApi,
  { config, uid }: Candidate,
  signal: AbortSignal,
): Promise<TrialResponse | undefined> {
  const deletion = toDeletion(objectPath(MACHINE_CONFIGS_PATH, config), uid);
  try {
    await sendWrite(api, deletion, { dryRun: 'All', signal });
    return { status: 200, message: '' };
  } catch (error) {
    if (!hasAnswered(error)) throw error;
    const { status, message } = error.cause;
    if (isAnswerOfAdmission({ status, message })) return { status, message };
    if (status === 404 || status === 409) return undefined;
    throw error;
  }
}
