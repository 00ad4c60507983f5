import { type ConfigName, isRenderedConfig } from '../../decision/config-name.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { type NamedReference, REFERRER_KINDS, summarizeReferences } from '../../decision/references.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../decision/settings.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError } from '../../kube/errors.ts';
import { MACHINE_CONFIGS } from '../../references/sources.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { accessCluster, readObject } from '../../client/cluster-access.ts';
import { listAll, readReferrers } from '../../client/cluster-reader.ts';
import { isAdmissionError, type TrialResponse } from './assess-trial.ts';

interface Candidate {
  readonly config: ConfigName;
  readonly uid: string;
}

/** Without configs that have the allow-deletion annotation or are terminating: their deletion shows nothing. */
export interface TrialCandidates {
  /** Preferably in use by a node. */
  readonly used: (Candidate & { readonly reference: NamedReference }) | undefined;
  readonly unused: Candidate | undefined;
  readonly configCount: number;
  readonly skippedCount: number;
}

/** The API server limits a deletion to 34 s. */
const DELETE_TIMEOUT_MS = 35_000;
const LIST_TIMEOUT_MS = 30_000;
/** The operator never gives a config this name. */
const NONEXISTENT_CONFIG = 'machineconfig-guard-verify';

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
 * @throws CliError, ClusterAccessError
 */
export async function tryDryRunDeletion(api: KubeApi, candidate: Candidate): Promise<TrialResponse | undefined> {
  const { config, uid } = candidate;
  const response = await sendDeletion(api, config, 'All', { preconditions: { uid } });
  if (response.status < 400 && !(await stillExists(api, candidate))) {
    throw new CliError(
      `${config} no longer exists after the dry run: another client deleted it, ` +
        `or ${api.address} does not honor dry runs; check the audit log before you retry`,
      EXIT_CODE.clusterAccess,
    );
  }
  const isGone = response.status === 404 || response.status === 409;
  return isGone && !isAdmissionError(response) ? undefined : response;
}

/**
 * Sends `dryRun` also in the query, which the API server reads if it gets no body.
 *
 * @throws ClusterAccessError if the API server failed before webhooks and policies decided
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
      // RBAC is checked before webhooks and policies.
      const isForbidden = status === 403 && message.includes('cannot delete resource');
      const hasFailed = isForbidden || status === 401 || status === 429 || status >= 500;
      if (hasFailed && !isAdmissionError({ status, message })) throw error;
      return { status, message };
    }
  });
}

async function stillExists(api: KubeApi, { config, uid }: Candidate): Promise<boolean> {
  const object = (await readObject(api, objectPath(MACHINE_CONFIGS_PATH, config))) as ApiObject | undefined;
  const { uid: currentUid, deletionTimestamp } = object?.metadata ?? {};
  return currentUid === uid && deletionTimestamp === undefined;
}

export async function findTrialCandidates(api: KubeApi): Promise<TrialCandidates> {
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS);
  const { referrers } = await readReferrers(api, signal);
  const configs = await listAll(api, MACHINE_CONFIGS, parseConfig, signal);
  const rendered = configs.filter(({ config }) => isRenderedConfig(config));
  const candidates = rendered.filter(({ isSkipped }) => !isSkipped);
  const references = candidates.flatMap((candidate) => {
    const { strong } = summarizeReferences(candidate.config, referrers, 1);
    return strong.references.map((reference) => ({ config: candidate.config, uid: candidate.uid, reference }));
  });
  // Builds come last, because only the guard protects their configs.
  const [used] = REFERRER_KINDS.flatMap((kind) => references.filter(({ reference }) => reference.kind === kind));
  const unused = candidates.find(({ config }) => !references.some((candidate) => candidate.config === config));
  const skippedCount = rendered.length - candidates.length;
  return { used, unused, configCount: rendered.length, skippedCount };
}

function parseConfig(object: ApiObject): Candidate & { readonly isSkipped: boolean } {
  const { name, uid, isTerminating } = MACHINE_CONFIGS.parse(object);
  const isOverridden = object.metadata?.annotations?.[ALLOW_DELETION_ANNOTATION] !== undefined;
  return { config: name, uid, isSkipped: isTerminating || isOverridden };
}
