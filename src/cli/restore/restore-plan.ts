import type { ConfigDifference } from '../../client/config-differences.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { joinFirst } from '../../common/printable-text.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
import {
  CONTROL_PLANE_POOL,
  findForeignConfigs,
  type InspectedNode,
  type InspectedPool,
  listReferrers,
} from '../../diagnosis/cluster-snapshot.ts';
import { chooseCopies, hasMatchingName } from '../../rendered-config/config-hash.ts';
import { formatOrigins, hasIgnitionContent, type RenderedConfig } from '../../rendered-config/rendered-config.ts';
import { findPool, listSteps, type RestoreState, type RestoreStep } from './restore-steps.ts';
import { MCO_GROUP } from '../../mco/api-paths.ts';
import { type ConfigName, parsePoolName } from '../../mco/machine-config.ts';
import { summarizeReferences } from '../../references/config-referrers.ts';
import { findPoolOfNode } from '../../mco/pool-of-node.ts';
import { hasStrongReference, NODE_FIELDS } from '../../mco/referrer.ts';
import { formatReferrers } from '../../review/message.ts';

export interface Content {
  readonly config: RenderedConfig;
  /** Present if the hash in the name proves no copy. A clause about all copies. */
  readonly mismatch?: string;
}

/**
 * Chooses the copy that matches the hash in the name. The machine-config-server changes some specs in the file that it
 * writes (machine-config-operator, pkg/server): osImageURL in image mode, and kernel arguments for old boot images.
 * @param copies of one config
 */
export function chooseContent(copies: readonly RenderedConfig[]): Content {
  const [config] = chooseCopies(copies) as [RenderedConfig];
  if (hasMatchingName(config) === true) return { config };
  const sources = joinFirst(copies.map(formatOrigins));
  return { config, mismatch: `the hash in the name does not prove the content of ${sources}` };
}

/** Why a config is not restored. Part of the JSON of `restore`. */
export interface Rejection {
  readonly code:
    | 'HashDiffers'
    | 'NameDiffers'
    | 'NoCopy'
    | 'NoIgnitionContent'
    | 'NotReferenced'
    | 'OtherPool'
    | 'Terminating'
    | 'WriteDenied';
  readonly reason: string;
  readonly advice: Advice;
}

/** What `restore` does with one config, and what it says of it. */
export interface RestorePlan {
  readonly config: RenderedConfig;
  readonly exists: boolean;
  /** Empty if the restore is rejected, or if there is nothing to do. */
  readonly steps: readonly RestoreStep[];
  /** What a person does after the last step. */
  readonly next: Advice | undefined;
  readonly report: PlanReport;
}

/** Part of the JSON of `restore`. */
export interface PlanReport {
  readonly name: ConfigName;
  /** Where the chosen copy comes from, such as `node/control1:/etc/mcs-machine-config-content.json`. */
  readonly source: string;
  /** The pool that the config was rendered for, if it exists. */
  readonly pool: string | null;
  /** Nodes and pools, as a phrase. */
  readonly namedBy: string | null;
  readonly rejection: Rejection | null;
  /** The config of its pool in the API. */
  readonly comparedWith: ConfigName | null;
  /** How the copy differs from it. */
  readonly differences: readonly ConfigDifference[];
  /** Whole sentences. */
  readonly warnings: readonly string[];
}

/** What the command line asks for. */
export interface WantedRestore {
  /** All copies of the configs of this restore. They share the pause of a pool. */
  readonly configs: readonly RenderedConfig[];
  /** The name on the command line. Candidates with another name are rejected. */
  readonly name?: ConfigName | undefined;
  /** Without it, every write is a dry run. */
  readonly isConfirmed: boolean;
  /** Whether the content may differ from the hash in the name. */
  readonly acceptContent?: boolean | undefined;
}

const COPIES =
  '/etc/machine-config-daemon/currentconfig or /etc/mcs-machine-config-content.json of a node, or ' +
  '/etc/mcs/bootstrap of the bootstrap host';
/** Seen with the real daemon of 4.20 (docs/internals/decisions/0011-restore.md). */
const DAEMON_CONSEQUENCE =
  'a running machine-config-daemon installs this content on each node that names the config, with a drain and a ' +
  'reboot. One that has restarted compares it with the disk. If they differ, the node stays Degraded';

/** Derives the steps from the state alone, so a second run continues after the last step of the first. */
export function planRestore(content: Content, state: RestoreState, options: WantedRestore): RestorePlan {
  const { config } = content;
  const { name } = config;
  const pool = findPool(state, parsePoolName(name));
  const exists = state.configs.has(name);
  const report = describeConfig(name, formatOrigins(config), state);
  const nodesOnDisk = findNodesOnDisk(name, state, options);
  const isReferenced = report.namedBy !== null || nodesOnDisk.length > 0;
  const rejection = findRejection(content, state, options, isReferenced) ?? null;
  const neededSteps = listSteps(state, config, pool);
  const hasWrite = neededSteps.some(({ write }) => write !== undefined);
  // Nodes can still be Degraded when a restore ends. A second one with --confirm waits for them again.
  const isWait = ({ action, wait }: RestoreStep) =>
    options.isConfirmed && action === 'AwaitNodes' && wait !== undefined;
  const steps = rejection === null ? neededSteps.filter((step) => hasWrite || isWait(step)) : [];
  return {
    config,
    exists,
    steps,
    next: rejection === null ? adviseNames(name, nodesOnDisk) : undefined,
    report: {
      ...report,
      rejection,
      warnings: steps.length > 0 && !exists ? findWarnings(content, pool, state, options, steps) : [],
    },
  };
}

/** The part of a report that needs no comparison with another config. */
function describeConfig(name: ConfigName, source: string, state: RestoreState) {
  const { nodes, pools } = state;
  const { strong } = summarizeReferences(name, listReferrers({ nodes, pools }));
  return {
    name,
    source,
    pool: findPool(state, parsePoolName(name))?.name ?? null,
    namedBy: formatReferrers(strong) || null,
    comparedWith: null,
    differences: [],
    warnings: [],
  };
}

/** What is reported about a missing config that a directory or a List lacks. */
export function rejectWithoutCopy(name: ConfigName, source: string, state: RestoreState): PlanReport {
  const reason = 'the config is missing, and no readable file of the source contains it';
  const advice = advise('choose another source; see which node has a copy', shell`machineconfig-guard check`);
  return { ...describeConfig(name, source, state), rejection: { code: 'NoCopy', reason, advice } };
}

/**
 * The nodes whose disk differs from the config that they name: it can have this one. A node whose reason names a
 * config that it no longer names is compared again soon.
 */
function findNodesOnDisk(
  name: ConfigName,
  { nodes, pools }: RestoreState,
  { configs }: WantedRestore,
): readonly InspectedNode[] {
  return nodes.filter((node) => {
    const { labels, currentConfig, desiredConfig, daemonReason } = node;
    if (daemonReason.type !== 'diskDiffers') return false;
    const isOfPool = findPoolOfNode(labels, pools).selecting.some((pool) => pool.name === parsePoolName(name));
    const own = configs.filter(({ origins }) => origins.some((origin) => origin.node === node.name));
    const isRead = own.some((config) => config.name === name);
    if (!isOfPool || (own.length > 0 && !isRead)) return false;
    const { comparedWith } = daemonReason;
    const isOwn = [currentConfig, desiredConfig, undefined].includes(comparedWith);
    return isOwn || (isRead && currentConfig !== name);
  });
}

/** The daemon compares the disk with the config before it writes. Then the operator updates one node after another. */
function adviseNames(config: ConfigName, nodes: readonly InspectedNode[]): Advice | undefined {
  if (nodes.length === 0) return undefined;
  const others = nodes.filter(({ currentConfig }) => currentConfig !== config);
  const names = others.map(({ name }) => name);
  if (others.length === 0) {
    return advise('the nodes already name the config of this disk. Change back the file that they report as different');
  }
  const annotations = NODE_FIELDS.map((field) => shell`${verbatim(`${MCO_GROUP}/${field}`)}=${config}`);
  const text = 'let the nodes name the config that their disks have. The operator then updates one after another';
  return advise(text, shell`oc annotate node ${names} --overwrite ${annotations}`);
}

function findRejection(
  { config, mismatch }: Content,
  state: RestoreState,
  { name, acceptContent }: WantedRestore,
  isReferenced: boolean,
): Rejection | undefined {
  if (name !== undefined && config.name !== name) {
    const reason = `${formatOrigins(config)} contains ${config.name}, not ${name}`;
    return { code: 'NameDiffers', reason, advice: advise(`read ${name} from another node or file: ${COPIES}`) };
  }
  if (state.configs.has(config.name)) return undefined;
  if (state.terminatingConfigs.has(config.name)) {
    const reason = 'the config exists and is being deleted';
    const advice = advise('remove its finalizers, and restore it once it is gone');
    return { code: 'Terminating', reason, advice };
  }
  if (!isReferenced) return rejectUnreferenced(config.name, state);
  const foreign = rejectOtherPool(config.name, state);
  if (foreign !== undefined) return foreign;
  if (mismatch === undefined) return undefined;
  if (!hasIgnitionContent(config)) {
    const advice = advise(
      `this is a copy that the node encapsulated during its first boot. Read another one: ${COPIES}`,
    );
    return { code: 'NoIgnitionContent', reason: 'spec.config has no Ignition content', advice };
  }
  return acceptContent === true ? undefined : explainMismatch(mismatch);
}

/** A build of a missing config can never end, and the operator starts another one for the config of the pool. */
function rejectUnreferenced(name: ConfigName, { builds = [] }: RestoreState): Rejection {
  const build = builds.find((each) => hasStrongReference(name, each));
  if (build === undefined) {
    const advice = advise('see which configs are missing', shell`machineconfig-guard check`);
    return { code: 'NotReferenced', reason: 'no node and no pool names the config', advice };
  }
  const reason = `only build ${build.name} names the config`;
  const advice = advise('delete the build', shell`oc delete machineosbuild ${build.name}`);
  return { code: 'NotReferenced', reason, advice };
}

/** A node can write the name of any config into its annotations, also of one that it has made up. */
function rejectOtherPool(name: ConfigName, state: RestoreState): Rejection | undefined {
  const nodes = findForeignConfigs(state).get(name);
  if (nodes === undefined) return undefined;
  const poolName = parsePoolName(name);
  const names = nodes.map((node) => node.name);
  return {
    code: 'OtherPool',
    reason: `pool ${poolName} does not select the nodes that name it: ${joinFirst(names)}`,
    advice: advise(
      'a compromised node can name a config of another pool to get its own content into the cluster. ' +
        `If this is a node of pool ${poolName}, correct its labels`,
    ),
  };
}

function explainMismatch(reason: string): Rejection {
  const advice = advise(
    'read the config from another node or file, or name several with --from. In a cluster that was installed from an ' +
      'image, the hashes prove nothing, so compare the copies of two nodes. --accept-content creates the config with ' +
      `this content all the same: ${DAEMON_CONSEQUENCE}`,
  );
  return { code: 'HashDiffers', reason, advice };
}

/**
 * Whether new machines of the pool get the content: from its spec once a machine is updated, and else from its status
 * (machine-config-operator, pkg/server/cluster_server.go).
 */
function isServed(name: ConfigName, pool: InspectedPool | undefined, steps: readonly RestoreStep[]): boolean {
  if (pool === undefined) return false;
  const served = pool.updatedMachineCount > 0 ? pool.specConfig : pool.statusConfig;
  return served === name || steps.some(({ action }) => action === 'SetPoolStatus');
}

function findWarnings(
  { config, mismatch }: Content,
  pool: InspectedPool | undefined,
  { controlPlaneSize }: RestoreState,
  { configs }: WantedRestore,
  steps: readonly RestoreStep[],
): string[] {
  const warnings: string[] = [];
  if (mismatch !== undefined) warnings.push(`The hash in the name does not prove the content: ${DAEMON_CONSEQUENCE}.`);
  // Without the daemon's pod, a node's file comes over SSH.
  const isOfNode = config.origins.some(({ type }) => type === 'node' || type === 'stdin');
  if (isOfNode && isServed(config.name, pool, steps)) {
    const meaning = 'A matching hash proves that name and content belong together, not that the operator rendered it';
    warnings.push(`New machines of pool ${pool?.name} boot with the content of ${formatOrigins(config)}. ${meaning}.`);
  }
  const isOwnPause = configs.some(({ name }) => name === pool?.pausedFor);
  if (pool?.paused === true && !isOwnPause) {
    const end = pool.pausedFor === undefined ? '' : ` until the restore of ${pool.pausedFor} ends`;
    warnings.push(`Its pool ${pool.name} stays paused${end}.`);
  }
  if (pool?.name === CONTROL_PLANE_POOL && controlPlaneSize === undefined) {
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
