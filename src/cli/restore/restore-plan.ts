import { type ConfigName, parsePoolName } from '../../decision/config-name.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { formatReferrers } from '../../decision/message.ts';
import { countNoun, joinFirst } from '../../common/printable-text.ts';
import { hasStrongReference, summarizeReferences } from '../../decision/references.ts';
import { findReferencedConfig } from '../../client/cluster-snapshot.ts';
import { matchesNodeSelector } from '../../references/node-selector.ts';
import { hasIgnitionContent, type RenderedConfig } from '../../rendered-config/rendered-config.ts';
import type { Content } from './choose-content.ts';
import {
  CONTROL_PLANE_POOL,
  countMissingMachines,
  findNodesOfConfig,
  findPool,
  needsPause,
  needsStatus,
  type RestorePool,
  type RestoreState,
} from './restore-state.ts';

/** Why a config is not restored. Part of the JSON of `restore`. */
export interface Rejection {
  readonly code:
    | 'HashDiffers'
    | 'NameDiffers'
    | 'NoIgnitionContent'
    | 'NotReferenced'
    | 'OtherPool'
    | 'OtherRestore'
    | 'SelectorMatches'
    | 'Terminating'
    | 'WriteDenied';
  readonly reason: string;
  readonly advice: Advice;
}

export type StepAction =
  'PausePool' | 'CreateConfig' | 'SetPoolStatus' | 'AwaitMachines' | 'UnpausePool' | 'AwaitNodes';

export interface RestoreStep {
  readonly action: StepAction;
  /** What it does: a verb phrase. */
  readonly description: string;
  /** What is true after it: a clause. */
  readonly result: string;
}

export interface RestorePlan {
  readonly config: RenderedConfig;
  /** The pool that the config was rendered for. Undefined if it does not exist. */
  readonly pool: string | undefined;
  readonly exists: boolean;
  /** Nodes and pools that name the config, as a phrase. Empty if nothing names it. */
  readonly referrers: string;
  readonly rejection: Rejection | undefined;
  readonly warnings: readonly string[];
  /** Empty if the restore is rejected, or if there is nothing to do. */
  readonly steps: readonly RestoreStep[];
}

export interface PlanOptions {
  /** The name on the command line. */
  readonly name: ConfigName | undefined;
  readonly acceptContent: boolean;
  /** The names of all configs of this restore. They share the pause of a pool. */
  readonly restoredNames: ReadonlySet<ConfigName>;
}

const MAX_REFERRERS = 3;
const DAEMON_CONSEQUENCE =
  'the machine-config-daemon compares it with the disk of the node. If they differ, it reports ' +
  '"unexpected on-disk state" and the node stays Degraded. If osImageURL differs, it boots that image';

/** Derives the steps from the state alone, so a second run continues after the last step of the first. */
export function planRestore(content: Content, state: RestoreState, options: PlanOptions): RestorePlan {
  const { config } = content;
  const { name } = config;
  const pool = findPool(state, parsePoolName(name));
  const exists = state.configs.has(name);
  const referrers = [...state.nodes, ...state.pools].map(({ referrer }) => referrer);
  const { strong } = summarizeReferences(name, referrers, MAX_REFERRERS);
  const possibleSteps = planSteps(state, name, pool, exists);
  const rejection =
    findRejection(content, state, { ...options, exists, isReferenced: strong.total > 0 }) ??
    (possibleSteps.length === 0 ? undefined : rejectOtherRestore(pool, options));
  const steps = rejection === undefined ? possibleSteps : [];
  return {
    config,
    pool: pool?.referrer.name,
    exists,
    referrers: formatReferrers(strong),
    rejection,
    warnings: steps.length > 0 && !exists ? findWarnings(content, pool, state) : [],
    steps,
  };
}

function findRejection(
  { config, mismatch }: Content,
  state: RestoreState,
  {
    name,
    acceptContent,
    exists,
    isReferenced,
  }: PlanOptions & { readonly exists: boolean; readonly isReferenced: boolean },
): Rejection | undefined {
  if (name !== undefined && config.name !== name) {
    const reason = `${config.source} contains ${config.name}, not ${name}`;
    return { code: 'NameDiffers', reason, advice: advise(`read ${name} from another node or file`) };
  }
  if (exists) return undefined;
  if (state.terminatingConfigs.has(config.name)) {
    const reason = 'the config exists and is being deleted';
    const advice = advise('remove its finalizers, and restore it once it is gone');
    return { code: 'Terminating', reason, advice };
  }
  if (!isReferenced) {
    const advice = advise('see which configs are missing', ['machineconfig-guard', 'check']);
    return { code: 'NotReferenced', reason: 'no node and no pool names the config', advice };
  }
  const foreign = rejectOtherPool(config.name, state);
  if (foreign !== undefined) return foreign;
  const selecting = state.pools.find(({ machineConfigSelector }) => selectsEverything(machineConfigSelector));
  if (selecting !== undefined) {
    const poolName = selecting.referrer.name;
    const reason = `the machineConfigSelector of pool ${poolName} matches configs without labels`;
    const advice = advise(
      `pool ${poolName} would be rendered anew from the restored config. Change its selector first`,
    );
    return { code: 'SelectorMatches', reason, advice };
  }
  if (mismatch === undefined) return undefined;
  if (!hasIgnitionContent(config)) {
    const advice = advise(
      'this is a copy that the node encapsulated during its first boot. Read ' +
        '/etc/mcs-machine-config-content.json of the node, or /etc/mcs/bootstrap/machine-configs of the bootstrap host',
    );
    return { code: 'NoIgnitionContent', reason: 'spec.config has no Ignition content', advice };
  }
  return acceptContent ? undefined : explainMismatch(mismatch);
}

/** A node can write the name of any config into its annotations, also of one that it has made up. */
function rejectOtherPool(name: ConfigName, state: RestoreState): Rejection | undefined {
  const pool = findPool(state, parsePoolName(name));
  if (pool === undefined || state.pools.some(({ referrer }) => hasStrongReference(name, referrer))) return undefined;
  const nodes = findNodesOfConfig(state, name);
  if (nodes.some(({ labels }) => matchesNodeSelector(pool.referrer.nodeSelector, labels))) return undefined;
  const poolName = pool.referrer.name;
  const names = joinFirst(
    nodes.map(({ referrer }) => referrer.name),
    MAX_REFERRERS,
  );
  return {
    code: 'OtherPool',
    reason: `only ${names} ${nodes.length === 1 ? 'names' : 'name'} it, and pool ${poolName} does not select that`,
    advice: advise(
      'a compromised node can name a config of another pool to get its own content into the cluster. ' +
        `If this is a node of pool ${poolName}, correct its labels`,
    ),
  };
}

/** The config for which another restore has paused the pool. */
export function findOtherRestore(pool: RestorePool | undefined, ownNames: ReadonlySet<string>): string | undefined {
  const { paused = false, pausedFor } = pool ?? {};
  return !paused || pausedFor === undefined || ownNames.has(pausedFor) ? undefined : pausedFor;
}

/** The other restore would unpause the pool before this one has ended. */
function rejectOtherRestore(pool: RestorePool | undefined, { restoredNames }: PlanOptions): Rejection | undefined {
  const other = findOtherRestore(pool, restoredNames);
  if (other === undefined) return undefined;
  return {
    code: 'OtherRestore',
    reason: `a restore of ${other} has paused pool ${pool?.referrer.name}`,
    advice: advise('wait until it ends. If it was interrupted, see the commands that continue it or give it up', [
      'machineconfig-guard',
      'check',
    ]),
  };
}

function explainMismatch({ reason, similarConfig }: NonNullable<Content['mismatch']>): Rejection {
  const advice =
    similarConfig === undefined
      ? 'read the config from another node or file, or name several with --from'
      : `${similarConfig} in the API does not match its name either. Clusters that were installed from an image have ` +
        'such configs, and the hash proves nothing there. Compare the copies of two nodes with two --from';
  return {
    code: 'HashDiffers',
    reason,
    advice: advise(
      `${advice}. --accept-content creates the config with this content all the same: ${DAEMON_CONSEQUENCE}`,
    ),
  };
}

/** Restored configs have no labels. An empty selector matches every object, unlike an absent one. */
function selectsEverything(selector: unknown): boolean {
  if (typeof selector !== 'object' || selector === null) return false;
  const { matchLabels, matchExpressions } = selector as { matchLabels?: object; matchExpressions?: unknown[] };
  const isEmpty = Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length === 0;
  return isEmpty || matchesNodeSelector(selector, {});
}

function findWarnings(
  { correction, mismatch }: Content,
  pool: RestorePool | undefined,
  { controlPlaneReplicas }: RestoreState,
): string[] {
  const warnings: string[] = [];
  if (correction !== undefined) warnings.push(correction);
  if (mismatch !== undefined) {
    warnings.push(`The content does not match the hash in the name: ${DAEMON_CONSEQUENCE}.`);
  }
  if (pool?.paused === true && pool.pausedFor === undefined) {
    warnings.push(`Its pool ${pool.referrer.name} is paused, and stays paused.`);
  }
  if (pool?.referrer.name === CONTROL_PLANE_POOL && controlPlaneReplicas === undefined) {
    warnings.push(
      'The number of control plane machines is unknown, so no step waits for a missing one. ' +
        'Use --control-plane-replicas to set it.',
    );
  }
  if (pool === undefined) {
    warnings.push('Its pool does not exist, so the config gets no owner. Delete it once it is not in use.');
  }
  return warnings;
}

function planSteps(
  state: RestoreState,
  name: ConfigName,
  pool: RestorePool | undefined,
  exists: boolean,
): RestoreStep[] {
  const steps: RestoreStep[] = [];
  const add = (action: StepAction, description: string, result: string): void => {
    steps.push({ action, description, result });
  };
  const nodes = findNodesOfConfig(state, name);
  const isPausedByRestore = pool?.pausedFor === name;
  const isStatusNeeded = pool !== undefined && needsStatus(state, pool, name) && isStuck(state, pool, name);
  if (exists && !isPausedByRestore && !isStatusNeeded) return [];
  const isPauseNeeded = !exists && pool !== undefined && needsPause(state, pool, name);
  const missingMachines = pool === undefined ? 0 : countMissingMachines(state, pool);
  const poolName = pool?.referrer.name ?? '';
  if (isPauseNeeded) add('PausePool', `pause pool ${poolName}`, `paused pool ${poolName}`);
  if (!exists) {
    const owner = pool === undefined ? 'without an owner' : `owned by pool ${poolName}`;
    add('CreateConfig', `create ${name}, ${owner}`, `created ${name}`);
  }
  if (isStatusNeeded) {
    add(
      'SetPoolStatus',
      `set status.configuration.name of pool ${poolName}, from which new machines get their config`,
      `set the status of pool ${poolName}; new machines can get their config`,
    );
  }
  if (missingMachines > 0) {
    const verb = missingMachines === 1 ? 'joins' : 'join';
    const wait = `wait until ${countNoun(missingMachines, 'more machine')} ${verb} pool ${poolName}`;
    add('AwaitMachines', wait, `all machines of pool ${poolName} have joined`);
  }
  if (isPauseNeeded || isPausedByRestore) {
    add('UnpausePool', `unpause pool ${poolName}`, `unpaused pool ${poolName}`);
  }
  if (nodes.length > 0) {
    const verbs = nodes.length === 1 ? ['names', 'leaves'] : ['name', 'leave'];
    const wait = `wait until ${countNoun(nodes.length, 'node')} that ${verbs[0]} it ${verbs[1]} Degraded`;
    add('AwaitNodes', wait, `no node that names ${name} is Degraded`);
  }
  return steps;
}

/** The operator sets the status itself once the machines run the config in the spec. */
function isStuck(state: RestoreState, pool: RestorePool, name: ConfigName): boolean {
  return findReferencedConfig(pool.referrer, 'spec') !== name && findNodesOfConfig(state, name).length > 0;
}
