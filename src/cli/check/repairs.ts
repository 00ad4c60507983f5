import { findReferencedConfig } from '../../client/cluster-snapshot.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { toUnpauseCommand } from '../../client/paused-for-restore.ts';
import { type ConfigName, isObjectName, parsePoolName } from '../../decision/config-name.ts';
import { MCO_GROUP, PAUSED_FOR_RESTORE } from '../../kube/api-paths.ts';
import { type ConsistencyResult, isMissingForever } from './consistency.ts';
import type { Problem } from './problems.ts';

/** A command that solves a problem. Part of the JSON of `check`. */
export interface Repair extends Advice {
  /** Whether another repair is better, so that a person must choose. */
  readonly alternative: boolean;
}

/** The existing config that an annotation gets instead of a missing one. */
type ConfigChoice = (problem: Problem, pool: string | undefined) => ConfigName | null | undefined;

/** Where the bootstrap host keeps the configs that it rendered. */
const BOOTSTRAP_CONFIGS = '/etc/mcs/bootstrap/machine-configs';
/** Of a config that the guard has seen. */
const DELETED = /^deleted at /;

/** The first repair is the best one. A name that no object can have gets no command. */
export function planRepairs(
  { nodes, pools, problems }: ConsistencyResult,
  configs: ReadonlySet<ConfigName>,
  pendingRequests: readonly string[],
): Repair[] {
  const nodeByConfig = findRestorableConfigs(nodes);
  const unpauses = pools.flatMap((result) => planUnpause(result, nodes, nodeByConfig));
  if (problems.every(({ recoverable }) => recoverable)) return unpauses;
  const configByPool = new Map<string, ConfigName>();
  for (const { pool } of pools) {
    const config = findReferencedConfig(pool.referrer, 'spec');
    if (config !== undefined && configs.has(config)) configByPool.set(pool.referrer.name, config);
  }
  const poolsWithRestore = new Set([...nodeByConfig.keys()].map(parsePoolName));
  const repairs = [...nodeByConfig].map(([config, node]) => planRestore(config, node));
  repairs.push(...unpauses);
  for (const result of pools) {
    const { name } = result.pool.referrer;
    // A restore sets the status, too.
    if (!poolsWithRestore.has(name)) repairs.push(...planPoolRepair(result, configByPool.get(name)));
  }
  if (pendingRequests.length > 0) {
    const text = 'approve pending certificate requests of nodes; check the requestors first';
    repairs.push(toRepair(advise(text, ['oc', 'adm', 'certificate', 'approve', ...pendingRequests])));
  }
  repairs.push(
    ...planAnnotationRepairs(
      nodes,
      (problem) => (canBeTypo(problem) ? problem.suggestion : null),
      'only if the name is a typo: name the existing config',
    ),
    ...planAnnotationRepairs(
      nodes,
      (problem, pool) => (problem.suggestion === null && pool !== undefined ? configByPool.get(pool) : null),
      'last resort, if no copy of the missing config exists: name the config of the pool. The missing one stays on ' +
        'the disk, so the machine-config-daemon reports "unexpected on-disk state". Forcing it hides the difference',
    ),
  );
  return repairs;
}

function canBeTypo({ explanation }: Problem): boolean {
  return explanation === null || !DELETED.test(explanation);
}

function toRepair(advice: Advice, alternative = false): Repair {
  return { ...advice, alternative };
}

/** Each missing config, with a node that names it and so probably has it on its disk. */
function findRestorableConfigs(nodes: ConsistencyResult['nodes']): ReadonlyMap<ConfigName, string> {
  const nodeByConfig = new Map<ConfigName, string>();
  for (const field of ['currentConfig', 'desiredConfig']) {
    for (const { node, problems } of nodes) {
      const config = problems.find((problem) => problem.field === field && isMissingForever(problem))?.config;
      if (typeof config !== 'string' || nodeByConfig.has(config)) continue;
      if (parsePoolName(config) !== undefined && isObjectName(config)) nodeByConfig.set(config, node.referrer.name);
    }
  }
  return nodeByConfig;
}

function planRestore(config: ConfigName, node: string): Repair {
  const text =
    'create the missing config again; without --confirm this writes nothing. ' +
    `On the bootstrap host use --from ${BOOTSTRAP_CONFIGS}`;
  return toRepair(advise(text, ['machineconfig-guard', 'restore', config, '--from', `node/${node}`]));
}

/** A restore that was killed leaves its pool paused, even if everything else is fine. */
function planUnpause(
  { pool: { referrer, paused, pausedFor } }: ConsistencyResult['pools'][number],
  nodes: ConsistencyResult['nodes'],
  nodeByConfig: ReadonlyMap<string, string>,
): Repair[] {
  if (pausedFor === undefined) return [];
  const { name } = referrer;
  if (!paused) {
    // A restore would take the next pause by a person for its own.
    const text = `pool ${name}: it is not paused, so remove the mark of a restore`;
    return [toRepair(advise(text, ['oc', 'annotate', 'machineconfigpool', name, `${PAUSED_FOR_RESTORE}-`]))];
  }
  const source = nodes.find(({ node }) =>
    node.referrer.references.some(({ config, strength }) => config === pausedFor && strength === 'strong'),
  );
  const isRestorable = source !== undefined && isObjectName(pausedFor);
  const undo = advise(`pool ${name}: unpause it, only to give up its restore`, ...toUnpauseCommand(name));
  // Without the config, another repair already has the restore.
  if (nodeByConfig.has(pausedFor)) return [toRepair(undo, true)];
  if (!isRestorable) return [toRepair(undo)];
  const words = ['machineconfig-guard', 'restore', pausedFor, '--from', `node/${source.node.referrer.name}`];
  const text = `pool ${name} is paused by a restore. Let it run, or continue it if it has ended early`;
  return [toRepair(advise(text, [...words, '--confirm'])), toRepair(undo, true)];
}

function planAnnotationRepairs(
  nodes: ConsistencyResult['nodes'],
  chooseConfig: ConfigChoice,
  purpose: string,
): Repair[] {
  return [...groupNodesByRepair(nodes, chooseConfig)].map(([annotations, names]) => {
    const lines = annotations.split(' ').map((annotation) => [annotation]);
    return toRepair(advise(purpose, ['oc', 'annotate', 'node', ...names, '--overwrite'], ...lines), true);
  });
}

function planPoolRepair({ pool, problems }: ConsistencyResult['pools'][number], config?: ConfigName): Repair[] {
  const isStuck = problems.some(
    ({ code, field, recoverable }) => field === 'status' && !recoverable && code !== 'ConfigTerminating',
  );
  if (config === undefined || !isStuck) return [];
  const { name } = pool.referrer;
  const text = `pool ${name}: set the status, from which new machines get their config`;
  const words = ['oc', 'patch', 'machineconfigpool', name, '--subresource=status', '--type=merge'];
  const patch = JSON.stringify({ status: { configuration: { name: config } } });
  return [toRepair(advise(text, words, ['-p', patch]))];
}

/** Node names, keyed by the annotations that they need. */
function groupNodesByRepair(nodes: ConsistencyResult['nodes'], chooseConfig: ConfigChoice) {
  const namesByRepair = new Map<string, string[]>();
  for (const { node, pool, problems } of nodes) {
    const annotations = problems.filter(isMissingForever).flatMap((problem) => {
      const config = chooseConfig(problem, pool) ?? null;
      return config === null ? [] : [`${MCO_GROUP}/${problem.field}=${config}`];
    });
    const key = annotations.join(' ');
    if (key !== '') namesByRepair.set(key, [...(namesByRepair.get(key) ?? []), node.referrer.name]);
  }
  return namesByRepair;
}
