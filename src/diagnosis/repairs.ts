import { groupBy } from '../common/group-by.ts';
import { findReferencedConfig } from '../mco/referrer.ts';
import {
  canHaveBootstrapHost,
  CONTROL_PLANE_POOL,
  findConfigOfPool,
  type InspectedNode,
  type InspectedPool,
} from './cluster-snapshot.ts';
import { isMissingForever, isOnDisk } from './findings.ts';
import type { Cluster, Problem, ProblemCode } from './problem.ts';
import { PAUSED_FOR_RESTORE } from '../api/annotations.ts';
import { MCO_GROUP } from '../mco/api-paths.ts';
import { type ConfigName, parsePoolName } from '../mco/machine-config.ts';
import { isObjectName } from '../kube/api-object.ts';

export interface Repair {
  readonly text: string;
  readonly command: readonly string[];
  /** Whether a person must choose: only if its text applies. */
  readonly alternative: boolean;
}

type Plan = (problems: readonly Problem[], cluster: Cluster) => readonly Repair[];

const BOOTSTRAP_CONFIGS = '/etc/mcs/bootstrap/machine-configs';
/** The daemon then writes the config once without a comparison (machine-config-operator, pkg/daemon/update.go). */
const FORCE_FILE = '/run/machine-config-daemon-force';
const OWN = 'machineconfig-guard';
const CURRENT = 'currentConfig';
const DESIRED = 'desiredConfig';

/** All repairs in their order: first what the others need, last what loses something. */
const REPAIRS = {
  assignPool: forEachNode((node, { poolOf, livePoolByName }) => {
    const { pool, conflicting } = poolOf(node);
    const config = findReferencedConfig(node.referrer, CURRENT) ?? findReferencedConfig(node.referrer, DESIRED);
    const own = livePoolByName.get(config && parsePoolName(config));
    if (pool !== undefined || own === undefined) return [];
    const isConflict = conflicting.length > 0;
    const labels = isConflict ? conflicting.filter((each) => each !== own).flatMap(listRemovals) : listLabels(own);
    const problem = isConflict ? 'is in several custom pools' : 'is in no pool, so the operator ignores it';
    const text = `node ${node.referrer.name} ${problem}: give it only the label of the pool whose config it names`;
    return [plan(text, ['oc', 'label', 'node', node.referrer.name, ...labels])];
  }),
  resetSpec: forEachPool('spec', (pool, cluster) => {
    const missing = findReferencedConfig(pool.referrer, 'spec');
    const config = findConfigOfPool(pool, cluster) ?? findRunningConfig(pool, cluster);
    if (missing === undefined || config === undefined || cluster.nodeWithCopy.has(missing)) return [];
    const text = `pool ${pool.referrer.name}: name a config that exists. No node ran the missing one`;
    return [patchPool(text, pool, { spec: { configuration: { name: config } } })];
  }),
  resetDesired: planAnnotations(
    'set desiredConfig to a config that exists. Nothing is lost: no node runs the missing one',
    (node, { field }, cluster) => {
      const { pool, conflicting } = cluster.poolOf(node);
      const isReset = field === DESIRED && isUpdating(node);
      if (!isReset || pool === undefined || conflicting.length > 0) return undefined;
      return findConfigOfPool(pool, cluster) ?? findReferencedConfig(node.referrer, CURRENT);
    },
  ),
  restore: (problems, cluster) =>
    [...groupBy(problems, ({ config }) => config)].flatMap(([config]) => {
      const node = config === null || !isRestorable(config) ? undefined : cluster.nodeWithCopy.get(config);
      if (config === null || node === undefined) return [];
      const place = canHaveBootstrapHost(cluster, cluster.now)
        ? `. On the bootstrap host use --from ${BOOTSTRAP_CONFIGS}`
        : '';
      if (cluster.foreignConfigs.has(config)) return [];
      const text = `create the missing config again; without --confirm this writes nothing${place}`;
      return [plan(text, [OWN, 'restore', config, '--from', `node/${node.referrer.name}`])];
    }),
  continueRestore: (problems, { configs, nodes }) =>
    problems.flatMap(({ name, config }) => {
      const isNamed = nodes.some(({ referrer }) => referrer.references.some((each) => each.config === config));
      const giveUp = plan(`pool ${name}: unpause it, only to give up its restore`, toUnpauseCommand(String(name)));
      if (config === null || !isNamed || !isRestorable(config)) return [giveUp];
      // Without the config, another repair has the restore.
      if (!configs.has(config)) return [{ ...giveUp, alternative: true }];
      const text = `pool ${name} is paused by a restore. Let it run, or continue it if it has ended early`;
      return [plan(text, [OWN, 'restore', config, '--confirm']), { ...giveUp, alternative: true }];
    }),
  unpause: forEachPool('status', (pool) => {
    if (!pool.paused || pool.pausedFor !== undefined) return [];
    const text = `pool ${pool.referrer.name}: unpause it, because the operator updates no machine of a paused pool`;
    return [patchPool(text, pool, { spec: { paused: false } })];
  }),
  setStatus: forEachPool('status', (pool, cluster) => {
    const config = findRunningConfig(pool, cluster) ?? findReferencedConfig(pool.referrer, 'spec');
    const { name } = pool.referrer;
    // A restore sets it, too.
    const isRestored = cluster.problemsOfNodes(pool).some(isMissingForever);
    if (config === undefined || !cluster.configs.has(config) || isRestored) return [];
    const text = `pool ${name}: set the status, from which new machines get their config`;
    return [patchPool(text, pool, { status: { configuration: { name: config } } }, '--subresource=status')];
  }),
  approveRequests: (_problems, { pendingRequests = [] }) => {
    const words = ['oc', 'adm', 'certificate', 'approve', ...pendingRequests.map(({ name }) => name)];
    const text = 'approve pending certificate requests of nodes; check the requestors first';
    return pendingRequests.length === 0 ? [] : [plan(text, words)];
  },
  nameDesired: planAnnotations(
    'the disk may already have the desired config: name it as the current one. The daemon compares before it writes, ' +
      'so a wrong name changes nothing',
    (node) => (isOnDisk(node) && isUpdating(node) ? findReferencedConfig(node.referrer, DESIRED) : undefined),
  ),
  // The others follow when the first one has recovered.
  readDisk: forEachNode((node) => {
    const text =
      'see which config the disk has, and create it again if it is missing. The daemon then changes the whole disk ' +
      'to the desired config. It costs one reboot. If a person changed a file, change it back instead';
    const command = [OWN, 'restore', '--from', `node/${node.referrer.name}`];
    return isOnDisk(node) && !isUpdating(node) ? [plan(text, command)] : [];
  }, 1),
  force: forEachNode((node) => {
    const { name } = node.referrer;
    const text =
      `overwrite the disk of ${name}, then of the others, without a comparison, and reboot it. Files, units and ` +
      'kernel arguments that only the old config has stay on the disk, and no check finds them later';
    const command = ['oc', 'debug', `node/${name}`, '--', 'chroot', '/host', 'touch', FORCE_FILE];
    return isOnDisk(node) ? [{ ...plan(text, command), alternative: true }] : [];
  }, 1),
  // A compromised node can name a config of another pool.
  returnToPool: forEachNode((node, cluster) => {
    const { name } = node.referrer;
    const { pool } = cluster.poolOf(node);
    const config = findReferencedConfig(node.referrer, CURRENT);
    if (config === undefined || pool === undefined || !cluster.foreignConfigs.has(config)) return [];
    const own = cluster.livePoolByName.get(parsePoolName(config));
    if (own === undefined || own.referrer.name === CONTROL_PLANE_POOL) return [];
    const labels = [...listLabels(own), ...(pool.referrer.name === 'worker' ? [] : listRemovals(pool))];
    const text = `only if ${name} was in pool ${own.referrer.name}: move it back, restore the config, move it again`;
    return [{ ...plan(text, ['oc', 'label', 'node', name, ...labels]), alternative: true }];
  }),
  nameConfigOfPool: planAnnotations(
    'last resort, if no copy of the missing config exists: name the config of the pool. The missing one stays on the ' +
      'disk, so the machine-config-daemon reports "unexpected on-disk state"',
    (node, { field }, cluster) => {
      const { pool } = cluster.poolOf(node);
      // The daemon compares the disk with the config, unless only `desiredConfig` names it.
      const isCompared = field === CURRENT || (field === DESIRED && !isUpdating(node));
      return pool !== undefined && isCompared ? findConfigOfPool(pool, cluster) : undefined;
    },
    true,
  ),
} satisfies Record<string, Plan>;

export type RepairName = keyof typeof REPAIRS;

/** The first repair is the best one. A problem that the operator can solve needs none. */
export function planRepairs(
  problems: readonly Problem[],
  cluster: Cluster,
  listRepairs: (code: ProblemCode) => readonly RepairName[],
): readonly Repair[] {
  const isStuck = problems.some(({ recoverable }) => !recoverable);
  const open = problems.filter(({ code, recoverable }) => !recoverable || code === 'TooFewNodes');
  const names = Object.keys(REPAIRS) as RepairName[];
  return names.flatMap((name) => {
    const own = open.filter(({ code }) => listRepairs(code).includes(name));
    // A machine that waits for its certificate is often a part of the problem.
    const isWanted = own.length > 0 || (isStuck && name === 'approveRequests');
    return isWanted ? REPAIRS[name](own, cluster) : [];
  });
}

/** A restore would take the next pause by a person for its own. */
export function planMarkRemoval({ referrer: { name }, paused, pausedFor }: InspectedPool): readonly Repair[] {
  if (paused || pausedFor === undefined) return [];
  const text = `pool ${name}: it is not paused, so remove the mark of a restore`;
  return [plan(text, ['oc', 'annotate', 'machineconfigpool', name, `${PAUSED_FOR_RESTORE}-`])];
}

export function toPausePatch(config: string | null) {
  return { metadata: { annotations: { [PAUSED_FOR_RESTORE]: config } }, spec: { paused: config !== null } };
}

export function toUnpauseCommand(pool: string): readonly string[] {
  return ['oc', 'patch', 'machineconfigpool', pool, '--type=merge', '-p', JSON.stringify(toPausePatch(null))];
}

function plan(text: string, command: readonly string[]): Repair {
  return { text, command, alternative: false };
}

function patchPool(text: string, { referrer }: InspectedPool, patch: object, ...flags: readonly string[]): Repair {
  const words = ['oc', 'patch', 'machineconfigpool', referrer.name, ...flags, '--type=merge', '-p'];
  return plan(text, [...words, JSON.stringify(patch)]);
}

function forEachNode(planOne: (node: InspectedNode, cluster: Cluster) => readonly Repair[], max?: number): Plan {
  return (problems, cluster) => {
    const names = new Set(problems.map(({ kind, name }) => (kind === 'Node' ? name : null)));
    const nodes = cluster.nodes.filter(({ referrer }) => names.has(referrer.name));
    return nodes.flatMap((node) => planOne(node, cluster)).slice(0, max);
  };
}

function forEachPool(field: string, planOne: (pool: InspectedPool, cluster: Cluster) => readonly Repair[]): Plan {
  return (problems, cluster) => {
    const names = new Set(problems.map((problem) => (problem.field === field ? problem.name : null)));
    return cluster.livePools
      .filter(({ referrer }) => names.has(referrer.name))
      .flatMap((pool) => planOne(pool, cluster));
  };
}

/** One command for all nodes that need the same annotations, each for the field of its problem. */
function planAnnotations(
  text: string,
  findConfig: (node: InspectedNode, problem: Problem, cluster: Cluster) => ConfigName | undefined,
  alternative = false,
): Plan {
  return (problems, cluster) => {
    const nodeByName = new Map<string | null, InspectedNode>(cluster.nodes.map((node) => [node.referrer.name, node]));
    const changes = problems.flatMap((problem) => {
      const node = problem.kind === 'Node' ? nodeByName.get(problem.name) : undefined;
      const config = node && findConfig(node, problem, cluster);
      const annotation = `${MCO_GROUP}/${problem.field ?? CURRENT}=${config}`;
      return node === undefined || config === undefined ? [] : [{ name: node.referrer.name, annotation }];
    });
    const annotationsByNode = [...groupBy(changes, ({ name }) => name)].map(([name, own]) => {
      return { name, annotations: own.map(({ annotation }) => annotation) };
    });
    return [...groupBy(annotationsByNode, ({ annotations }) => annotations.join(' ')).values()].flatMap((group) => {
      const words = ['oc', 'annotate', 'node', ...group.map(({ name }) => name), '--overwrite'];
      return [{ ...plan(text, [...words, ...(group[0]?.annotations ?? [])]), alternative }];
    });
  };
}

function isUpdating({ referrer }: InspectedNode): boolean {
  return findReferencedConfig(referrer, DESIRED) !== findReferencedConfig(referrer, CURRENT);
}

/** A config of the pool that its nodes run. A restore sets the status to it, too, as the operator would. */
function findRunningConfig(pool: InspectedPool, cluster: Cluster): ConfigName | undefined {
  const currentConfigs = cluster.nodesOf(pool).map(({ referrer }) => findReferencedConfig(referrer, CURRENT));
  return currentConfigs.find(
    (config) => config !== undefined && cluster.configs.has(config) && parsePoolName(config) === pool.referrer.name,
  );
}

function isRestorable(config: ConfigName): boolean {
  return parsePoolName(config) !== undefined && isObjectName(config);
}

function listLabels({ referrer }: InspectedPool): readonly string[] {
  const { matchLabels } = (referrer.nodeSelector ?? {}) as { readonly matchLabels?: object };
  return Object.entries(matchLabels ?? {}).map(([key, value]) => `${key}=${String(value)}`);
}

function listRemovals(pool: InspectedPool): readonly string[] {
  return listLabels(pool).map((label) => label.replace(/=.*/s, '-'));
}
