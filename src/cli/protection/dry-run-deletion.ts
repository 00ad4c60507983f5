import { hasAnswered } from '../../client/cluster-access.ts';
import { listAll, readReferrers } from '../../client/cluster-reader.ts';
import { assertDryRunIsHonored, sendWrite, toDeletion } from '../../client/write.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../api/annotations.ts';
import { MACHINE_CONFIGS_PATH } from '../../mco/api-paths.ts';
import { isRenderedConfig } from '../../mco/machine-config.ts';
import { summarizeReferences } from '../../references/config-referrers.ts';
import { MACHINE_CONFIGS } from '../../mco/resources.ts';
import { REFERRER_KINDS, type ReferrerKind } from '../../mco/referrer.ts';

export interface DryRunAnswer {
  readonly status: number;
  /** Empty if the deletion is allowed. */
  readonly message: string;
}

export interface DryRun {
  readonly answer: DryRunAnswer;
  readonly kind: ReferrerKind;
  /** Of an unused config: it shows whether every deletion is denied. */
  readonly unused: DryRunAnswer | undefined;
}

/** Messages of kube-apiserver (k8s.io/apiserver, admission/plugin/webhook and policy/validating). */
const ANSWERS = [
  /admission webhook "(?<webhook>[^"]+)" denied the request(?:: (?<code>MCG_[A-Z_]+))?/,
  /ValidatingAdmissionPolicy '(?<policy>[^']+)'(?: with binding '[^']+')? denied request: (?<reason>[\s\S]*)/,
  /failed calling webhook "(?<failed>[^"]+)"/,
];

/**
 * Finds a config in use, preferably by a node, and an unused one. Skips configs that have the allow-deletion annotation
 * or are terminating: their deletion shows nothing.
 * @throws ClusterAccessError, or the signal's reason
 */
export async function findCandidates(api: KubeApi, signal: AbortSignal) {
  const { referrers } = await readReferrers(api, signal);
  const candidates = (await listAll(api, MACHINE_CONFIGS, parseCandidate, signal)).flat();
  const references = candidates.flatMap(({ config, uid }) => {
    const { strong } = summarizeReferences(config, referrers, referrers.length);
    return strong.references.map(({ kind, name, field }) => ({ config, uid, kind, name, field }));
  });
  const inUse = new Set(references.map(({ config }) => config));
  // Builds come last, because only the guard protects their configs.
  const [used] = REFERRER_KINDS.flatMap((kind) => references.filter((reference) => reference.kind === kind));
  // Their managedFields are empty.
  const undatedPools = referrers.flatMap((referrer) =>
    referrer.kind === 'MachineConfigPool' && referrer.references.length > 0 && referrer.specChangedAt === undefined
      ? [referrer.name]
      : [],
  );
  return { undatedPools, used, unused: candidates.find(({ config }) => !inUse.has(config)), inUse };
}

function parseCandidate(object: ApiObject) {
  const { name: config, uid, isTerminating } = MACHINE_CONFIGS.parse(object);
  const isOverridden = object.metadata?.annotations?.[ALLOW_DELETION_ANNOTATION] !== undefined;
  return isTerminating || isOverridden || !isRenderedConfig(config) ? [] : [{ config, uid }];
}

/**
 * Sends a dry run only after the API server has shown that it reads `dryRun`: a config in use could be deleted.
 * @returns the answer of a webhook or a policy, or undefined if the object was deleted or replaced before
 * @throws CliError, ClusterAccessError for another answer, or the signal's reason
 */
export async function dryRunDeletion(
  api: KubeApi,
  { config, uid }: ReturnType<typeof parseCandidate>[number],
  signal: AbortSignal,
): Promise<DryRunAnswer | undefined> {
  const deletion = toDeletion(objectPath(MACHINE_CONFIGS_PATH, config), uid);
  await assertDryRunIsHonored(api, deletion, signal);
  try {
    await sendWrite(api, deletion, { dryRun: 'All', signal });
    return { status: 200, message: '' };
  } catch (error) {
    if (!hasAnswered(error)) throw error;
    const { status, message } = error.cause;
    // Other errors have the same status codes.
    if (Object.keys(parseAnswer({ status, message })).length > 0) return { status, message };
    if (status === 404 || status === 409) return undefined;
    throw error;
  }
}

export function parseAnswer({ message }: DryRunAnswer): Readonly<Record<string, string | undefined>> {
  return Object.assign({}, ...ANSWERS.map((pattern) => pattern.exec(message)?.groups)) as Record<string, string>;
}
