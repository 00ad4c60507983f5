import { ApiError, type ClusterApi } from '../cluster/api.ts';
import { listCollection, listSource } from '../cluster/list.ts';
import { SOURCES } from '../cluster/source.ts';
import type { TrialAnswer } from '../install/verification.ts';
import { type ConfigName, configName, isRendered } from '../policy/config-name.ts';
import { ALLOW_DELETION } from '../policy/policy.ts';
import { type Reference, whoUses } from '../policy/references.ts';
import type { ApiObject, Referrer } from '../policy/referrer.ts';
import { clusterError } from './cluster-object.ts';

/** One object, by name and by identity. */
interface Candidate {
  readonly config: ConfigName;
  readonly uid: string;
}

/** What a trial can be made with. */
export interface Candidates {
  readonly used: (Candidate & { readonly reference: Reference }) | undefined;
  readonly unused: Candidate | undefined;
}

const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
const CONFIGS_RESOURCE = 'machineconfigs.machineconfiguration.openshift.io';
/** The API server bounds a deletion to 34 s; whoever waits for less might cut off a slow webhook. */
const CALL_MS = 35_000;
const READ_MS = 30_000;

/** Asks for the deletion of exactly this object, as a dry run in the query and in the body. */
export async function tryDeletion(api: ClusterApi, { config, uid }: Candidate): Promise<TrialAnswer> {
  const path = `${CONFIGS}/${encodeURIComponent(config)}?dryRun=All`;
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'], preconditions: { uid } };
  try {
    await api.json({ method: 'DELETE', path, body, signal: AbortSignal.timeout(CALL_MS) });
    return { status: 200, message: '' };
  } catch (error) {
    const wanted = { verb: 'delete', resource: CONFIGS_RESOURCE } as const;
    if (!(error instanceof ApiError) || error.status === 401) throw clusterError(error, wanted, api);
    // RBAC refuses before anybody is asked, in words of its own.
    if (error.status === 403 && error.message.includes('cannot delete resource'))
      throw clusterError(error, wanted, api);
    return { status: error.status, message: error.message };
  }
}

/** A config in use, best by a node, and one that nothing uses; neither with the annotation that allows its deletion. */
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
  const keepConfig = ({ metadata }: ApiObject): void => {
    const { name, uid, annotations } = (metadata ?? {}) as Metadata;
    if (name === undefined || uid === undefined || annotations?.[ALLOW_DELETION] !== undefined) return;
    if (isRendered(configName(name))) configs.push({ config: configName(name), uid });
  };
  await listCollection(api, CONFIGS, true, keepConfig, signal).catch((error: unknown) => {
    throw clusterError(error, { verb: 'list', resource: CONFIGS_RESOURCE }, api);
  });
  const uses = configs.map(({ config, uid }) => ({ config, uid, users: whoUses(config, referrers).hard }));
  const chosen = uses.find(({ users }) => users.some(isNode)) ?? uses.find(({ users }) => users.length > 0);
  const reference = chosen?.users.find(isNode) ?? chosen?.users[0];
  return {
    used: chosen === undefined || reference === undefined ? undefined : { ...chosen, reference },
    unused: uses.find(({ users }) => users.length === 0),
  };
}

interface Metadata {
  readonly name?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function isNode({ kind }: Reference): boolean {
  return kind === 'Node';
}
