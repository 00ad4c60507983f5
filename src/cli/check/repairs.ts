import { type Advice, advise } from '../../client/output/advice.ts';
import { toUnpauseCommand } from '../../client/paused-for-restore.ts';
import { groupBy } from './group-by.ts';
import { type ConfigName, isObjectName, parsePoolName } from '../../decision/references.ts';
import { MCO_GROUP, PAUSED_FOR_RESTORE } from '../../kube/api-paths.ts';
import { type CheckedCluster, type CheckedNode, type CheckedPool, isMissingForever, type Problem } from './problems.ts';

/** A command that solves a problem. Part of the JSON of `check`. */
export interface Repair extends Advice {
  /** Whether another repair is better, so that a person must choose. */
  readonly alternative: boolean;
}

/** Where the bootstrap host keeps the configs that it rendered. */
const BOOTSTRAP_CONFIGS = '/etc/mcs/bootstrap/machine-configs';

const ONLY_IF_TYPO = 'only if the name is a typo: name the existing config';
const LAST_RESORT =
  'last resort, if no copy of the missing config exists: name the config of the pool. The missing one stays on ' +
  'the disk, so the machine-config-daemon reports "unexpected on-disk state". Forcing it hides the difference';

/** The first repair is the best one. A name that no object can have gets no command. */
export function planRepairs(
  { nodes, pools, problems }: CheckedCluster,
  pendingRequests: readonly { readonly name: string }[],
): Repair[] {
  const missing = problems.filter(isMissingForever);
  const nodeByConfig = findRestorableConfigs(missing);
  const unpauses = pools.flatMap((pool) => planUnpause(pool, nodes, nodeByConfig));
  if (problems.every(({ recoverable }) => recoverable)) return unpauses;
  const wrongSpecs = new Set(problems.map(({ name, field }) => (field === 'spec' ? name : null)));
  const configByPool = new Map(pools.map(({ name, specConfig }) => [name, wrongSpecs.has(name) ? null : specConfig]));
  const approve = ['oc', 'adm', 'certificate', 'approve', ...pendingRequests.map(({ name }) => name)];
  const approval = advise('approve pending certificate requests of nodes; check the requestors first', approve);
  return [
    ...[...nodeByConfig].map(([config, node]) => planRestore(config, node)),
    ...unpauses,
    ...planStatuses(problems, configByPool, new Set([...nodeByConfig.keys()].map(parsePoolName))),
    ...(pendingRequests.length > 0 ? [toRepair(approval)] : []),
    ...planAnnotations(missing, nodes, configByPool),
  ];
}

function toRepair(advice: Advice, alternative = false): Repair {
  return { ...advice, alternative };
}

/** Each missing config, with a node that names it. One that runs it probably has it on its disk. */
function findRestorableConfigs(missing: readonly Problem[]): ReadonlyMap<ConfigName, string> {
  const nodeByConfig = new Map<ConfigName, string>();
  for (const field of ['currentConfig', 'desiredConfig']) {
    for (const { config, name } of missing.filter((problem) => problem.field === field)) {
      if (config === null || name === null || nodeByConfig.has(config)) continue;
      if (parsePoolName(config) !== undefined && isObjectName(config)) nodeByConfig.set(config, name);
    }
  }
  return nodeByConfig;
}

function planRestore(config: string, node: string): Repair {
  const text =
    'create the missing config again; without --confirm this writes nothing. ' +
    `On the bootstrap host use --from ${BOOTSTRAP_CONFIGS}`;
  return toRepair(advise(text, ['machineconfig-guard', 'restore', config, '--from', `node/${node}`]));
}

/** A restore that was killed leaves its pool paused, even if everything else is fine. */
function planUnpause(
  { name, paused, pausedFor }: CheckedPool,
  nodes: readonly CheckedNode[],
  nodeByConfig: ReadonlyMap<string, string>,
): Repair[] {
  if (pausedFor === null) return [];
  if (!paused) {
    // A restore would take the next pause by a person for its own.
    const text = `pool ${name}: it is not paused, so remove the mark of a restore`;
    return [toRepair(advise(text, ['oc', 'annotate', 'machineconfigpool', name, `${PAUSED_FOR_RESTORE}-`]))];
  }
  const undo = advise(`pool ${name}: unpause it, only to give up its restore`, ...toUnpauseCommand(name));
  // Without the config, another repair already has the restore.
  if (nodeByConfig.has(pausedFor)) return [toRepair(undo, true)];
  const source = nodes.find(({ currentConfig, desiredConfig }) => [currentConfig, desiredConfig].includes(pausedFor));
  if (source === undefined || !isObjectName(pausedFor)) return [toRepair(undo)];
  const text = `pool ${name} is paused by a restore. Let it run, or continue it if it has ended early`;
  const words = ['machineconfig-guard', 'restore', pausedFor, '--from', `node/${source.name}`, '--confirm'];
  return [toRepair(advise(text, words)), toRepair(undo, true)];
}

/** A restore sets the status of its pool, too. */
function planStatuses(
  problems: readonly Problem[],
  configByPool: ReadonlyMap<string | null, string | null>,
  restoredPools: ReadonlySet<string | undefined>,
): Repair[] {
  return problems.flatMap(({ code, name, field, recoverable }) => {
    const config = configByPool.get(name) ?? null;
    const isStuck = field === 'status' && !recoverable && code !== 'ConfigTerminating';
    if (!isStuck || name === null || config === null || restoredPools.has(name)) return [];
    const text = `pool ${name}: set the status, from which new machines get their config`;
    const words = ['oc', 'patch', 'machineconfigpool', name, '--subresource=status', '--type=merge'];
    return [toRepair(advise(text, words, ['-p', JSON.stringify({ status: { configuration: { name: config } } })]))];
  });
}

/** Another existing config for nodes. One command for all that need the same annotations. */
function planAnnotations(
  missing: readonly Problem[],
  nodes: readonly CheckedNode[],
  configByPool: ReadonlyMap<string | null, string | null>,
): Repair[] {
  const poolByNode = new Map(nodes.map(({ name, pool }) => [name, pool]));
  const changes = missing.flatMap(({ kind, name, field, suggestion, deletedAt }) => {
    // The name of a deleted config is no typo.
    if (kind !== 'Node' || name === null || (suggestion !== null && deletedAt !== null)) return [];
    const config = suggestion ?? configByPool.get(poolByNode.get(name) ?? null) ?? null;
    const text = suggestion === null ? LAST_RESORT : ONLY_IF_TYPO;
    return config === null ? [] : [{ name, text, annotation: `${MCO_GROUP}/${field}=${config}` }];
  });
  return [ONLY_IF_TYPO, LAST_RESORT].flatMap((text) => {
    const changesByNode = groupBy(
      changes.filter((change) => change.text === text),
      ({ name }) => name,
    );
    const nodesByAnnotations = groupBy(changesByNode, ([, own]) => own.map(({ annotation }) => annotation).join(' '));
    return [...nodesByAnnotations].map(([annotations, own]) => {
      const lines = annotations.split(' ').map((annotation) => [annotation]);
      return toRepair(
        advise(text, ['oc', 'annotate', 'node', ...own.map(([name]) => name), '--overwrite'], ...lines),
        true,
      );
    });
  });
}
