import { ApiError } from '../kube/errors.ts';
import { acceptHeaderForObject } from '../kube/resource.ts';
import { ALLOW_DELETION_ANNOTATION } from '../decision/settings.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { type KubeApi } from '../kube/api.ts';
import { listCollection, listResource } from '../kube/lists/list.ts';
import { REFERRER_RESOURCES } from '../references/sources.ts';
import { isAdmissionError, type TrialResponse } from './protection.ts';
import { type ConfigName, toConfigName, isRenderedConfig } from '../decision/config-name.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import { type NamedReference, summarizeReferences, type Referrer, type ReferrerKind } from '../decision/references.ts';
import { toReadError, readObject, type ObjectAccess } from './read-object.ts';
import { CliError, EXIT_CODE } from '../cli/exit.ts';

/** One object, by name and by identity. */
interface Candidate {
  readonly config: ConfigName;
  readonly uid: string;
}

/** What a trial can be made with. */
export interface TrialCandidates {
  readonly used: (Candidate & { readonly reference: NamedReference }) | undefined;
  readonly unused: Candidate | undefined;
  /** How many rendered configs there are. */
  readonly configs: number;
  /** How many of them are no candidates because of their allow-deletion annotation. */
  readonly overridden: number;
}

const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
const CONFIGS_RESOURCE = 'machineconfigs.machineconfiguration.openshift.io';
const DELETE: ObjectAccess = { verb: 'delete', resource: CONFIGS_RESOURCE };
/** The API server bounds a deletion to 34 s; whoever waits for less might cut off a slow webhook. */
const CALL_MS = 35_000;
const READ_MS = 30_000;
/** Nodes are protected by the guard and by every policy; builds by the guard alone. */
const PREFERENCE: readonly ReferrerKind[] = ['Node', 'MachineConfigPool', 'MachineOSBuild'];
/** No rendered config, and no name that the Machine Config Operator gives. */
const NOBODY = 'machineconfig-guard-verify';

/**
 * Proves, before anything is tried, that a dry run arrives at an API server that knows what it is: the deletion of an object
 * that does not exist, with a kind of dry run that does not exist. Options are judged before the object is looked for
 * (k8s.io/apiserver, endpoints/handlers/delete.go), so one that reads `dryRun` answers 422; one that does not, or that does not
 * get to see it because something in between drops it, answers 404. Nothing can be deleted by it.
 *
 * @throws CliError
 */
export async function assertDryRunIsHonored(api: KubeApi): Promise<void> {
  const answer = await sendDeletion(api, NOBODY, 'Proof', {});
  if (answer.status === 422 && answer.message.includes('dryRun')) return;
  throw new CliError(
    `the API server at ${api.address} (or a proxy in front of it) does not honour dry runs, so nothing was tried: it answered ` +
      `${answer.status} ${toPrintableLine(answer.message, 200)} where 422 was due.`,
    EXIT_CODE.cluster,
  );
}

/**
 * Asks for the deletion of exactly this object, as a dry run in the query and in the body: the API server reads the body and,
 * where it gets none, the query. Afterwards the object must still be there.
 *
 * @returns undefined where the object went before it could be asked about
 * @throws CliError
 */
export async function tryDryRunDeletion(api: KubeApi, candidate: Candidate): Promise<TrialResponse | undefined> {
  const { config, uid } = candidate;
  const answer = await sendDeletion(api, config, 'All', { preconditions: { uid } });
  if (answer.status < 400 && !(await isStillThere(api, candidate))) {
    throw new CliError(
      `${config} is gone after a dry run: either somebody else deleted it in the same moment, or dry runs are none at ` +
        `${api.address}; find out in the audit log before you run this again.`,
      EXIT_CODE.cluster,
    );
  }
  // Gone, or another object of the same name.
  if ((answer.status === 404 || answer.status === 409) && !isAdmissionError(answer)) return undefined;
  return answer;
}

/** Throws a CliError where nobody who decides about deletions was asked: not permitted, not reached, too busy. */
async function sendDeletion(api: KubeApi, name: string, dryRun: string, options: object): Promise<TrialResponse> {
  const path = `${CONFIGS}/${encodeURIComponent(name)}?dryRun=${dryRun}`;
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: [dryRun], ...options };
  try {
    await api.json({ method: 'DELETE', path, body, signal: AbortSignal.timeout(CALL_MS) });
    return { status: 200, message: '' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw toReadError(error, DELETE, api);
    const answer = { status: error.status, message: error.message };
    if (isAdmissionError(answer)) return answer;
    // RBAC refuses before anybody is asked, in words of its own.
    const notPermitted = error.status === 403 && error.message.includes('cannot delete resource');
    if (notPermitted || error.status === 401 || error.status === 429 || error.status >= 500) {
      throw toReadError(error, DELETE, api);
    }
    return answer;
  }
}

async function isStillThere(api: KubeApi, { config, uid }: Candidate): Promise<boolean> {
  const path = `${CONFIGS}/${encodeURIComponent(config)}`;
  const wanted = { verb: 'get', resource: CONFIGS_RESOURCE } as const;
  const { metadata } = ((await readObject(api, path, wanted, acceptHeaderForObject(true))) ?? {}) as ApiObject;
  const { uid: now, deletionTimestamp } = (metadata ?? {}) as Metadata;
  return now === uid && deletionTimestamp === undefined;
}

/**
 * A config in use, best by a node, and one that nothing uses; neither with the annotation that allows its deletion.
 *
 * @throws CliError
 */
export async function findTrialCandidates(api: KubeApi): Promise<TrialCandidates> {
  const signal = AbortSignal.timeout(READ_MS);
  const referrers: Referrer[] = [];
  for (const source of REFERRER_RESOURCES) {
    const keep = (object: ApiObject): void => void referrers.push(source.parse(object));
    await listResource(api, source, keep, signal).catch((error: unknown) => {
      throw toReadError(error, { verb: 'list', resource: source.name }, api);
    });
  }
  const configs: Candidate[] = [];
  let overridden = 0;
  const keepConfig = ({ metadata }: ApiObject): void => {
    const { name, uid, annotations } = (metadata ?? {}) as Metadata;
    if (name === undefined || uid === undefined || !isRenderedConfig(toConfigName(name))) return;
    if (annotations?.[ALLOW_DELETION_ANNOTATION] === undefined) configs.push({ config: toConfigName(name), uid });
    else overridden += 1;
  };
  await listCollection(api, CONFIGS, { isMetadataOnly: true }, keepConfig, signal).catch((error: unknown) => {
    throw toReadError(error, { verb: 'list', resource: CONFIGS_RESOURCE }, api);
  });
  const uses = configs.map((candidate) => ({
    ...candidate,
    users: summarizeReferences(candidate.config, referrers, 1).strong.references,
  }));
  const used = PREFERENCE.flatMap((kind) =>
    uses.flatMap(({ config, uid, users }) => {
      const reference = users.find((user) => user.kind === kind);
      return reference === undefined ? [] : [{ config, uid, reference }];
    }),
  )[0];
  const unused = uses.find(({ users }) => users.length === 0);
  return { used, unused, configs: configs.length + overridden, overridden };
}

interface Metadata {
  readonly name?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}
