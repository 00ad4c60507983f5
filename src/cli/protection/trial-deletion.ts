import { accessCluster } from '../../client/cluster-access.ts';
import { listAll, readReferrers } from '../../client/cluster-reader.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { type ConfigName, isRenderedConfig, REFERRER_KINDS, summarizeReferences } from '../../decision/references.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../decision/settings.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError } from '../../kube/errors.ts';
import { MACHINE_CONFIGS } from '../../references/sources.ts';
import { isAnswerOfAdmission, type TrialResponse } from './assess-trial.ts';

interface Candidate {
  readonly config: ConfigName;
  readonly uid: string;
}

/** The API server limits a deletion to 34 s. */
const DELETE_TIMEOUT_MS = 35_000;
const LIST_TIMEOUT_MS = 30_000;
/** The operator never gives a config this name. */
const NONEXISTENT_CONFIG = 'machineconfig-guard-verify';

/**
 * Finds a config in use, preferably by a node, and an unused one. Skips configs that have the allow-deletion annotation
 * or are terminating: their deletion shows nothing.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function findTrialCandidates(api: KubeApi) {
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS);
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
 * Deletes a config that does not exist, with an invalid `dryRun`. The API server answers 422 if it reads
 * `dryRun`, else 404 (k8s.io/apiserver, endpoints/handlers/delete.go).
 *
 * @throws CliError, ClusterAccessError
 */
export async function assertDryRunIsHonored(api: KubeApi): Promise<void> {
  const { status, message } = await sendDeletion(api, NONEXISTENT_CONFIG, 'Proof', {});
  if (status === 422 && message.includes('dryRun')) return;
  throw new CliError(
    `the API server at ${api.address} (or a proxy in front of it) does not honor dry runs, so nothing was tested: ` +
      `it answered ${status} ${toPrintableLine(message, 200)} instead of 422`,
    EXIT_CODE.clusterAccess,
  );
}

/**
 * @returns undefined if the object was deleted or replaced before
 * @throws ClusterAccessError
 */
export async function tryDryRunDeletion(api: KubeApi, { config, uid }: Candidate): Promise<TrialResponse | undefined> {
  const response = await sendDeletion(api, config, 'All', { preconditions: { uid } });
  const isGone = response.status === 404 || response.status === 409;
  return isGone && !isAnswerOfAdmission(response) ? undefined : response;
}

/**
 * Sends `dryRun` also in the query, which the API server reads if it gets no body.
 *
 * @throws ClusterAccessError if no webhook and no policy answered
 */
async function sendDeletion(api: KubeApi, name: string, dryRun: string, options: object): Promise<TrialResponse> {
  const path = objectPath(MACHINE_CONFIGS_PATH, name);
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: [dryRun], ...options };
  const signal = AbortSignal.timeout(DELETE_TIMEOUT_MS);
  return await accessCluster('delete', path, signal, async () => {
    try {
      await api.json({ method: 'DELETE', path: `${path}?dryRun=${dryRun}`, body, signal });
      return { status: 200, message: '' };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { status, message } = error;
      // The config is gone, or has another uid, or the API server rejects the value of dryRun.
      if (isAnswerOfAdmission(error) || [404, 409, 422].includes(status)) return { status, message };
      throw error;
    }
  });
}
