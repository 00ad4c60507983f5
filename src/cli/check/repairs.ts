import { type ConfigName, parsePoolName } from '../../decision/config-name.ts';
import { MCO_GROUP, PAUSED_FOR_RESTORE } from '../../kube/api-paths.ts';
import { type ConsistencyResult, isMissingForever, type Problem } from './consistency.ts';
import { findReferencedConfig } from '../../client/cluster-snapshot.ts';
import { toUnpauseCommand } from '../../client/paused-for-restore.ts';
import { toShellWord } from '../../client/shell-word.ts';

export interface Repair {
  readonly description: string;
  /** Words, quoted for a shell. A terminal shows each inner list on its own line. */
  readonly command: readonly (readonly string[])[];
}

/** The existing config that an annotation gets instead of a missing one. */
type ConfigChoice = (problem: Problem, pool: string | undefined) => ConfigName | undefined;

/** Where the bootstrap host keeps the configs that it rendered. */
const BOOTSTRAP_CONFIGS = '/etc/mcs/bootstrap/machine-configs';

/** The first repair is the best one. Names are quoted, because annotations can contain any text. */
export function planRepairs(
  { nodes, pools, problems }: ConsistencyResult,
  configs: ReadonlySet<ConfigName>,
  pendingRequests: readonly string[],
): Repair[] {
  const nodeByConfig = findRestorableConfigs(nodes);
  const unpauses = pools.flatMap((result) => planUnpause(result, nodes, nodeByConfig));
  if (problems.every(({ isRecoverable }) => isRecoverable)) return unpauses;
  const configByPool = new Map<string, ConfigName>();
  for (const { pool } of pools) {
    const config = findReferencedConfig(pool.referrer, 'spec');
    if (config !== undefined && configs.has(config)) configByPool.set(pool.referrer.name, config);
  }
  const poolsWithRestore = new Set([...nodeByConfig.keys()].map(parsePoolName));
  const repairs = [...nodeByConfig].map(([config, node]) => planRestore(config, node));
  repairs.push(...unpauses);
  repairs.push(
    ...planAnnotationRepairs(nodes, ({ suggestion }) => suggestion, 'replace the misspelled annotations'),
  );
  for (const result of pools) {
    const { name } = result.pool.referrer;
    // A restore sets the status, too.
    if (!poolsWithRestore.has(name)) repairs.push(...planPoolRepair(result, configByPool.get(name)));
  }
  if (pendingRequests.length > 0) {
    repairs.push({
      description: 'approve pending certificate requests of nodes; check the requestors first',
      command: [['oc', 'adm', 'certificate', 'approve', ...pendingRequests.map(toShellWord)]],
    });
  }
  const getPoolConfig: ConfigChoice = ({ suggestion }, pool) =>
    suggestion === undefined && pool !== undefined ? configByPool.get(pool) : undefined;
  const lastResort =
    'last resort, if no copy of the missing config exists: name the config of the pool. The missing one stays on the ' +
    'disk, so the machine-config-daemon reports "unexpected on-disk state". Forcing it hides the difference';
  repairs.push(...planAnnotationRepairs(nodes, getPoolConfig, lastResort));
  return repairs;
}

/** Each missing config that is not misspelled, with a node that names it and so probably has it on its disk. */
function findRestorableConfigs(nodes: ConsistencyResult['nodes']): ReadonlyMap<ConfigName, string> {
  const nodeByConfig = new Map<ConfigName, string>();
  for (const field of ['currentConfig', 'desiredConfig']) {
    for (const { node, problems } of nodes) {
      const problem = problems.find((candidate) => candidate.field === field && isMissingForever(candidate));
      const { config, suggestion } = problem ?? {};
      if (config === undefined || suggestion !== undefined || nodeByConfig.has(config)) continue;
      if (parsePoolName(config) !== undefined) nodeByConfig.set(config, node.referrer.name);
    }
  }
  return nodeByConfig;
}

function planRestore(config: ConfigName, node: string): Repair {
  const source = toShellWord(`node/${node}`);
  return {
    description:
      'create the missing config again; without --confirm this writes nothing. ' +
      `On the bootstrap host use --from ${BOOTSTRAP_CONFIGS}`,
    command: [['machineconfig-guard', 'restore', toShellWord(config), '--from', source]],
  };
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
    const command = [['oc', 'annotate', 'machineconfigpool', toShellWord(name), `${PAUSED_FOR_RESTORE}-`]];
    return [{ description: `pool ${name}: it is not paused, so remove the mark of a restore`, command }];
  }
  const source = nodes.find(({ node }) =>
    node.referrer.references.some(({ config, strength }) => config === pausedFor && strength === 'strong'),
  );
  const undo = {
    description: `pool ${name}: unpause it, only to give up its restore`,
    command: toUnpauseCommand(name),
  };
  // Without the config, another repair already has the restore.
  if (source === undefined || nodeByConfig.has(pausedFor)) return [undo];
  const words = ['machineconfig-guard', 'restore', toShellWord(pausedFor), '--from'];
  const restore = {
    description: `pool ${name} is paused by a restore. Let it run, or continue it if it has ended early`,
    command: [[...words, toShellWord(`node/${source.node.referrer.name}`), '--confirm']],
  };
  return [restore, undo];
}

function planAnnotationRepairs(
  nodes: ConsistencyResult['nodes'],
  chooseConfig: ConfigChoice,
  purpose: string,
): Repair[] {
  return [...groupNodesByRepair(nodes, chooseConfig)].map(([annotations, names]) => ({
    description: `${names.length === 1 ? 'node' : 'nodes'}: ${purpose}`,
    command: [
      ['oc', 'annotate', 'node', ...names.map(toShellWord), '--overwrite'],
      ...annotations.split(' ').map((annotation) => [toShellWord(annotation)]),
    ],
  }));
}

function planPoolRepair({ pool, problems }: ConsistencyResult['pools'][number], config?: ConfigName): Repair[] {
  const isStuck = problems.some(
    ({ code, field, isRecoverable }) => field === 'status' && !isRecoverable && code !== 'ConfigTerminating',
  );
  if (config === undefined || !isStuck) return [];
  const { name } = pool.referrer;
  const patch = JSON.stringify({ status: { configuration: { name: config } } });
  const description = `pool ${name}: set the status, from which new machines get their config`;
  const words = ['oc', 'patch', 'machineconfigpool', toShellWord(name), '--subresource=status', '--type=merge'];
  return [{ description, command: [words, ['-p', toShellWord(patch)]] }];
}

/** Node names, keyed by the annotations that they need. */
function groupNodesByRepair(nodes: ConsistencyResult['nodes'], chooseConfig: ConfigChoice) {
  const namesByRepair = new Map<string, string[]>();
  for (const { node, pool, problems } of nodes) {
    const annotations = problems.filter(isMissingForever).flatMap((problem) => {
      const config = chooseConfig(problem, pool);
      return config === undefined ? [] : [`${MCO_GROUP}/${problem.field}=${config}`];
    });
    if (annotations.length === 0) continue;
    if (node.state !== 'Done') annotations.push(`${MCO_GROUP}/state=Done`);
    const key = annotations.join(' ');
    namesByRepair.set(key, [...(namesByRepair.get(key) ?? []), node.referrer.name]);
  }
  return namesByRepair;
}
