import { ApiError, type ClusterApi } from '../cluster/api.ts';
import { listCollection, listSource } from '../cluster/list.ts';
import { acceptObject, SOURCES } from '../cluster/source.ts';
import { isAboutAdmission, type TrialAnswer } from '../install/verification.ts';
import { type ConfigName, configName, isRendered } from '../policy/config-name.ts';
import { oneLine } from '../policy/line.ts';
import { ALLOW_DELETION } from '../policy/policy.ts';
import { type Reference, whoUses } from '../policy/references.ts';
import type { ApiObject, Referrer, ReferrerKind } from '../policy/referrer.ts';
import { clusterError, readObject, type Wanted } from './cluster-object.ts';
import { CliError, EXIT } from './exit.ts';

/** One object, by name and by identity. */
interface Candidate {
  readonly config: ConfigName;
  readonly uid: string;
}

/** What a trial can be made with. */
export interface Candidates {
  readonly used: (Candidate & { readonly reference: Reference }) | undefined;
  readonly unused: Candidate | undefined;
  /** How many rendered configs there are. */
  readonly configs: number;
  /** How many of them are no candidates because of their allow-deletion annotation. */
  readonly overridden: number;
}

const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
const CONFIGS_RESOURCE = 'machineconfigs.machineconfiguration.openshift.io';
const DELETE: Wanted = { verb: 'delete', resource: CONFIGS_RESOURCE };
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
export async function proveDryRun(api: ClusterApi): Promise<void> {
  const answer = await sendDeletion(api, NOBODY, 'Proof', {});
  if (answer.status === 422 && answer.message.includes('dryRun')) return;
  throw new CliError(
    `the API server at ${api.address} (or a proxy in front of it) does not honour dry runs, so nothing was tried: it answered ` +
      `${answer.status} ${oneLine(answer.message, 200)} where 422 was due.`,
    EXIT.cluster,
  );
}

/**
 * Asks for the deletion of exactly this object, as a dry run in the query and in the body: the API server reads the body and,
 * where it gets none, the query. Afterwards the object must still be there.
 *
 * @returns undefined where the object went before it could be asked about
 * @throws CliError
 */
export async function tryDeletion(api: ClusterApi, candidate: Candidate): Promise<TrialAnswer | undefined> {
  const { config, uid } = candidate;
  const answer = await sendDeletion(api, config, 'All', { preconditions: { uid } });
  if (answer.status < 400 && !(await isStillThere(api, candidate))) {
    throw new CliError(
      `${config} is gone after a dry run: either somebody else deleted it in the same moment, or dry runs are none at ` +
        `${api.address}; find out in the audit log before you run this again.`,
      EXIT.cluster,
    );
  }
  // Gone, or another object of the same name.
  if ((answer.status === 404 || answer.status === 409) && !isAboutAdmission(answer)) return undefined;
  return answer;
}

/** Throws a CliError where nobody who decides about deletions was asked: not permitted, not reached, too busy. */
async function sendDeletion(api: ClusterApi, name: string, dryRun: string, options: object): Promise<TrialAnswer> {
  const path = `${CONFIGS}/${encodeURIComponent(name)}?dryRun=${dryRun}`;
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: [dryRun], ...options };
  try {
    await api.json({ method: 'DELETE', path, body, signal: AbortSignal.timeout(CALL_MS) });
    return { status: 200, message: '' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw clusterError(error, DELETE, api);
    const answer = { status: error.status, message: error.message };
    if (isAboutAdmission(answer)) return answer;
    // RBAC refuses before anybody is asked, in words of its own.
    const notPermitted = error.status === 403 && error.message.includes('cannot delete resource');
    if (notPermitted || error.status === 401 || error.status === 429 || error.status >= 500) {
      throw clusterError(error, DELETE, api);
    }
    return answer;
  }
}

async function isStillThere(api: ClusterApi, { config, uid }: Candidate): Promise<boolean> {
  const path = `${CONFIGS}/${encodeURIComponent(config)}`;
  const wanted = { verb: 'get', resource: CONFIGS_RESOURCE } as const;
  const { metadata } = ((await readObject(api, path, wanted, acceptObject(true))) ?? {}) as ApiObject;
  const { uid: now, deletionTimestamp } = (metadata ?? {}) as Metadata;
  return now === uid && deletionTimestamp === undefined;
}

/**
 * A config in use, best by a node, and one that nothing uses; neither with the annotation that allows its deletion.
 *
 * @throws CliError
 */
export async function candidates(api: ClusterApi): Promise<Candidates> {
  const signal = AbortSignal.timeout(READ_MS);
  const referrers: Referrer[] = [];
  for (const source of SOURCES) {
    const keep = (object: ApiObject): void => void referrers.push(source.read(object));
    await listSource(api, source, keep, signal).catch((error: unknown) => {
      throw clusterError(error, { verb: 'list', resource: source.resource }, api);
    });
  }
  const configs: Candidate[] = [];
  let overridden = 0;
  const keepConfig = ({ metadata }: ApiObject): void => {
    const { name, uid, annotations } = (metadata ?? {}) as Metadata;
    if (name === undefined || uid === undefined || !isRendered(configName(name))) return;
    if (annotations?.[ALLOW_DELETION] === undefined) configs.push({ config: configName(name), uid });
    else overridden += 1;
  };
  await listCollection(api, CONFIGS, { metadataOnly: true }, keepConfig, signal).catch((error: unknown) => {
    throw clusterError(error, { verb: 'list', resource: CONFIGS_RESOURCE }, api);
  });
  const uses = configs.map((candidate) => ({
    ...candidate,
    users: whoUses(candidate.config, referrers, 1).hard.references,
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
