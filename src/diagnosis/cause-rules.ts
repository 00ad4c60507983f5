import { toSeconds } from '../common/duration.ts';
import { groupBy } from '../common/group-by.ts';
import { joinFirst, joinWithAnd } from '../common/printable-text.ts';
import { shell, type ShellCommand, TARGETS, verbatim } from './shell-command.ts';
import type {
  Cause,
  CauseCode,
  ConfigMissing,
  DiskDiffers,
  MissingConfigReport,
  ObjectRejected,
  Removal,
} from './cause.ts';
import {
  type BlockingBudget,
  type DrainObstacles,
  type InspectedPool,
  isPoolOfControlPlane,
} from './cluster-snapshot.ts';
import { isBetweenReleases } from './missing-configs.ts';
import { quote } from './quote.ts';
import type { Repair } from './repair.ts';
import { patchPool, toRemoveMarkCommand, toUnpauseCommand } from './restore-pause.ts';
import { MCO_GROUP } from '../mco/api-paths.ts';
import { formatName } from '../mco/machine-config.ts';

/** How a cause reads, and what ends it. Everything comes from the facts of the cause. */
interface CauseRule<Own extends Cause> {
  /**
   * For the column CHECK, with the field as `current`, `desired`, `spec`, `status`, `both` or empty. By default the
   * words of the code, such as `node cordoned`.
   */
  readonly summary?: (field: string, cause: Own) => string;
  /** About all objects that have the cause, such as `nodes a and b`. No period. */
  readonly sentence: (cause: Own, names: string, isPlural: boolean) => string;
  /** Sentences after the first one and `waiting.why`, without periods. Empty ones are omitted. */
  readonly more?: (cause: Own) => readonly string[];
  /** What a person must not do, without a period. Empty if there is nothing to say. */
  readonly avoid?: (cause: Own) => string;
  readonly repairs?: (cause: Own) => readonly Repair[];
  /** Whether the repairs are shown although waiting can help. */
  readonly isRepairedWhileWaiting?: boolean;
}

type CauseOf<Code extends CauseCode> = Extract<Cause, { readonly code: Code }>;

const OPERATOR_NAMESPACE = 'openshift-machine-config-operator';
/** Then nothing is lost. With a selection, another node can have the content. */
const UNUSED = 'No checked node runs the missing one';
const BOOTSTRAP_CONFIGS = '/etc/mcs/bootstrap';
/** The daemon then writes the config once without a comparison (machine-config-operator, pkg/daemon/update.go). */
const FORCE_FILE = '/run/machine-config-daemon-force';
/** The daemon goes on without it (prepUpdateFromCluster and checkStateOnFirstRun in pkg/daemon/daemon.go). */
const RECORD_FILE = '/etc/machine-config-daemon/currentconfig';
/** Anything else in a reason could change a command. */
const KERNEL_ARGUMENT = /^[A-Za-z0-9][-\w.,:=@/%+]*$/;
/** Parts of a reason or a condition, with the part of the operator that knows more. */
const FURTHER_LOGS = [
  ['machine-config-controller logs', 'machine-config-controller'],
  ['NodeDisruptionPolicyStatus', 'machine-config-operator'],
  ['Failed to build OS image', 'machine-os-builder'],
] as const;

const have = (isPlural: boolean) => (isPlural ? 'have' : 'has');
const be = (isPlural: boolean) => (isPlural ? 'are' : 'is');
const verb = (isPlural: boolean, plural: string) => (isPlural ? plural : `${plural}s`);
const formatPods = (pods: readonly string[]) => `${pods.length > 1 ? 'pods' : 'pod'} ${joinFirst(pods)}`;
const isShared = ({ others = [] }: BlockingBudget) => others.length > 0;
const formatBudgets = ({ namespace, name, others = [] }: BlockingBudget) =>
  joinWithAnd([name, ...others].map((each) => `${namespace}/${each}`));
/** In brackets, since when and what else is known. */
function formatDetails(since: Date | undefined, ...others: readonly (string | undefined)[]): string {
  const details = [since && `since ${toSeconds(since)}`, ...others].filter(Boolean);
  return details.length === 0 ? '' : ` (${details.join(', ')})`;
}

function formatRejected({ kind, name, setting }: Pick<ObjectRejected, 'kind' | 'name' | 'setting'>): string {
  return setting === undefined ? `${kind} ${name}` : `the ${setting} of pool ${name}`;
}

const RULES: { readonly [Code in CauseCode]: CauseRule<CauseOf<Code>> } = {
  TooFewNodes: {
    sentence: ({ shortage }) => shortage,
  },

  OperatorStopped: {
    sentence: ({ deployment, state }) => `the operator does not run: deployment ${deployment} ${state}`,
    repairs: ({ deployment, isScaledToZero }) => {
      const text = isScaledToZero ? 'start the operator' : `see why the pods of ${deployment} do not run`;
      const command = isScaledToZero
        ? shell`oc scale deployment ${deployment} -n ${OPERATOR_NAMESPACE} --replicas=1`
        : shell`oc get pods -n ${OPERATOR_NAMESPACE} -l k8s-app=${deployment}`;
      return [{ name: 'startOperator', text, command }];
    },
  },

  OperatorDegraded: {
    sentence: () => 'the ClusterOperator machine-config is Degraded',
    repairs: ({ deployment }) => [readOperatorLog(deployment)],
  },

  PoolsMissing: {
    sentence: () => 'no MachineConfigPool exists',
    repairs: () => [readOperatorLog('machine-config-operator')],
  },

  ConfigMissing: {
    summary: (field) => `${field} missing`,
    sentence: ({ config }, names, isPlural) =>
      `${formatName(config)} does not exist; ${names} ${verb(isPlural, 'name')} it`,
    more: ({ suggestion, lostSince, ...cause }) => [
      lostSince === undefined ? '' : `The kubelet of the node has not answered since ${toSeconds(lostSince)}`,
      suggestion === null ? '' : `Closest existing name: ${suggestion}`,
      explainDeletion(cause),
    ],
    avoid: ({ lostSince, referrer }) =>
      lostSince === undefined
        ? ''
        : `Do not use ${referrer.name} as the source of a restore: its kubelet does not answer`,
    repairs: repairMissingConfig,
  },

  ConfigTerminating: {
    summary: (field) => `${field} being deleted`,
    sentence: ({ config }, names, isPlural) =>
      `${formatName(config)} is in use and being deleted; ${names} ${verb(isPlural, 'name')} it`,
    more: () => ['Move the referrers to another config before the finalizers are removed, or keep the finalizers'],
  },

  NotReported: {
    summary: (field) => (field === '' ? 'not reported' : `no ${field} yet`),
    sentence: ({ field = 'configuration' }, names, isPlural) =>
      `${names} ${have(isPlural)} ${field === 'desiredConfig' ? 'no desiredConfig' : `not reported a ${field} yet`}`,
    repairs: ({ referrer, replacement }) =>
      replacement === undefined
        ? [findDaemon(referrer.name)]
        : [
            annotateNode('resetDesired', 'set desiredConfig to the config that the node runs', referrer.name, {
              desiredConfig: replacement,
            }),
          ],
  },

  PoolConflict: {
    sentence: ({ conflicting }, names, isPlural) =>
      `${names} ${be(isPlural)} in the custom pools ${joinWithAnd(conflicting.map(formatName))}`,
    repairs: ({ referrer: { name }, choices }) => {
      if (choices.length === 0) {
        const text =
          'change the labels of the node, or the selector of a pool, so that only one custom pool selects it';
        return [{ name: 'assignPool', text }];
      }
      return choices.map(({ pool, labels }) => {
        const alternative = choices.length > 1;
        const text = `${alternative ? 'only if it belongs there: ' : ''}leave the node in pool ${pool}`;
        return { ...labelNode('assignPool', text, name, labels), alternative };
      });
    },
  },

  PoolDeleted: {
    sentence: ({ config, deletedPool, isTerminating }, names, isPlural) => {
      const of = `${formatName(config)} of pool ${formatName(deletedPool)}`;
      const state = isTerminating ? 'is being deleted' : 'does not exist';
      return `${names} still ${verb(isPlural, 'run')} ${of}, which ${state}`;
    },
    repairs: ({ referrer: { name }, deletedPool, pool, labels }) => {
      const text =
        `remove the label of pool ${formatName(deletedPool)}. ` +
        `The operator then updates the node to the config of pool ${formatName(pool)}, with a drain and a reboot`;
      return labels.length === 0 ? [] : [labelNode('leavePool', text, name, labels)];
    },
    isRepairedWhileWaiting: true,
  },

  NotInPool: {
    sentence: ({ missingPool }, names, isPlural) =>
      `${names} ${be(isPlural)} in no pool: ` +
      (missingPool === undefined ? 'no node selector accepts its labels' : `pool ${missingPool} does not exist`),
    repairs: ({ referrer: { name }, pool, missingPool, labels }) => {
      if (missingPool !== undefined) return [readOperatorLog('machine-config-operator')];
      if (pool === undefined) {
        return [{ name: 'assignPool', text: 'change the labels of the node so that a pool selects it' }];
      }
      // Its label makes a machine a part of the control plane, and any node can name a config of the pool.
      if (isPoolOfControlPlane(pool)) {
        const text = `only if the node is a machine of the control plane: give it the label of pool ${pool}`;
        return [{ ...labelNode('assignPool', text, name, labels), alternative: true }];
      }
      const text = `give the node the labels of pool ${pool}, or change the selector of the pool`;
      return [labelNode('assignPool', text, name, labels)];
    },
  },

  NodeNotReady: {
    sentence: ({ since }, names, isPlural) => `${names} ${be(isPlural)} not ready${formatDetails(since)}`,
    more: ({ finalizers = [] }) => [
      finalizers.length === 0 ? '' : `Its deletion waits for ${joinFirst(finalizers.map(quote))}`,
    ],
    avoid: ({ isReported }) =>
      isReported ? '' : 'Do not change the annotations of a node whose kubelet does not answer: nothing reads them',
    repairs: ({ referrer: { name }, isReported, replacement, removal }) => {
      const repair = isReported
        ? 'repair what the kubelet of each node reports'
        : 'start the machine or the kubelet of each lost node';
      const repairs: Repair[] = [{ name: 'startKubelet', text: repair }, ...deleteLostNode(name, removal)];
      if (replacement === undefined) return repairs;
      const text =
        'if its config is the reason: set desiredConfig to the config of the pool, with a drain and a reboot';
      const reset = annotateNode('resetDesired', text, name, { desiredConfig: replacement });
      return [...repairs, { ...reset, alternative: true }];
    },
    isRepairedWhileWaiting: true,
  },

  CertificatePending: {
    sentence: ({ since }, names, isPlural) =>
      `${names} ${be(isPlural)} not ready${formatDetails(since)}, and ${verb(isPlural, 'wait')} for a certificate`,
    more: () => ['Later the kubelet asks for a second certificate, so run check again'],
  },

  NodeCordoned: {
    sentence: ({ by, since }, names, isPlural) =>
      `${names} ${be(isPlural)} cordoned${formatDetails(since, by && `by ${by}`)}`,
    repairs: ({ referrer: { name }, by, isByProgram }) => {
      if (!isByProgram) return [uncordon(name)];
      const text = `uncordon the node, once ${by} has finished with it`;
      return [{ ...uncordon(name), text, alternative: true }];
    },
  },

  NodeUnavailable: {
    summary: (_field, { condition }) => condition,
    sentence: ({ condition, since }, names, isPlural) =>
      `${names} ${have(isPlural)} the condition ${condition}${formatDetails(since)}`,
    repairs: ({ condition }) => {
      const remedy = condition === 'DiskPressure' ? 'free space on the disk' : 'repair the network';
      return [{ name: 'endPressure', text: `${remedy} of the node. Its update then goes on` }];
    },
    isRepairedWhileWaiting: true,
  },

  UpdateStalled: {
    sentence: ({ config, state }, names, isPlural) =>
      `${names} ${isPlural ? 'do' : 'does'} not finish the update to ${formatName(config)} (state "${state}")`,
    repairs: ({ referrer }) => [findDaemon(referrer.name)],
  },

  DrainBlocked: {
    sentence: ({ since, budgets, endingPods, graceEnd }, names) => {
      const obstacles = budgets.map((budget) => {
        const { pods, isTemporary, isOfMachine } = budget;
        const end = isOfMachine === true ? 'its virtual machine has migrated' : 'more pods are healthy';
        if (isShared(budget))
          return `PodDisruptionBudgets ${formatBudgets(budget)}, which all select ${formatPods(pods)}`;
        return (
          `PodDisruptionBudget ${formatBudgets(budget)}, which allows no disruption of ${formatPods(pods)}` +
          (isTemporary === true ? ` until ${end}` : '')
        );
      });
      if (endingPods.length > 0) {
        const grace = graceEnd === undefined ? '' : `, whose grace period lasts until ${toSeconds(graceEnd)}`;
        obstacles.push(`the end of evicted ${formatPods(endingPods)}${grace}`);
      }
      const state = obstacles.length === 0 ? 'has not ended' : `waits for ${joinFirst(obstacles)}`;
      return `the drain of ${names}${formatDetails(since)} ${state}`;
    },
    more: ({ isUncordoned }) => [isUncordoned ? 'The node is not cordoned, so new pods start on it' : ''],
    avoid: () => 'Do not delete pods or budgets before the owner of the workload agrees: the workload can fail',
    repairs: ({ referrer: { name }, isUncordoned, ...obstacles }) => [
      ...(isUncordoned ? [cordonAgain(name)] : []),
      ...endDrain(name, obstacles),
    ],
    isRepairedWhileWaiting: true,
  },

  DesiredOutdated: {
    sentence: ({ config }, names, isPlural) =>
      `${names} ${be(isPlural)} to update to ${formatName(config)}, which the pool does not want`,
    repairs: ({ referrer, isCordoned, replacement }) => {
      if (isCordoned) return [uncordon(referrer.name)];
      if (replacement === undefined) return [];
      const text = 'set desiredConfig back. The node goes back to that config, and loses nothing';
      return [annotateNode('resetDesired', text, referrer.name, { desiredConfig: replacement })];
    },
  },

  DiskDiffers: {
    sentence: ({ comparedWith }, names, isPlural) =>
      `the ${isPlural ? 'disks' : 'disk'} of ${names} ${verb(isPlural, 'differ')} from ${formatName(comparedWith)}`,
    more: ({ annotatedBy }) => [
      annotatedBy === undefined
        ? ''
        : `currentConfig was changed by ${annotatedBy}, so the disk can have another config`,
    ],
    avoid: ({ difference }) =>
      difference.type === 'kernelArguments' ? `Do not create ${FORCE_FILE}: it adds no kernel arguments` : '',
    repairs: repairDisk,
  },

  Recovering: {
    sentence: (_cause, names, isPlural) =>
      `${names} still ${verb(isPlural, 'report')} an old reason. All named configs exist`,
    repairs: ({ referrer }) => [findDaemon(referrer.name)],
  },

  NodeDegraded: {
    sentence: ({ evidence }, names, isPlural) =>
      `${names} ${be(isPlural)} Degraded, ${evidence === '' ? 'without a reason' : 'although the configs exist'}`,
    repairs: ({ referrer, evidence, waiting, isRepairable, isTakenBack }) => {
      const further = readFurther(evidence);
      if (further.length > 0 || waiting.helps) return further;
      // The operator takes no cordoned node back (getAllCandidateMachines in node_controller.go).
      const text =
        'undo the change in the MachineConfig that made it, and then uncordon the node if it is cordoned. The ' +
        'operator takes it back';
      const undo: Repair = {
        name: 'correctSource',
        text: isRepairable ? `only if the change can go: ${text}` : text,
        alternative: isRepairable,
      };
      // The daemon calls rpm-ostree (pkg/daemon/update.go).
      const isOfOs = evidence.startsWith('failed to update OS');
      const look = isOfOs ? 'see which OS images and packages the node has, and ' : '';
      const repair: Repair = {
        name: 'changeBack',
        text: `${look}repair what the message is about. The daemon tries again`,
        command: isOfOs ? onHost(referrer.name, shell`rpm-ostree status`) : undefined,
        oneAtATime: 'other',
      };
      const repairs = [...(isRepairable ? [repair] : []), ...(isTakenBack ? [undo] : [])];
      return repairs.length > 0 ? repairs : [findDaemon(referrer.name)];
    },
    isRepairedWhileWaiting: true,
  },

  ObjectRejected: {
    summary: (_field, { kind, setting }) => `${setting ?? kind} rejected`,
    sentence: (cause, names, isPlural) =>
      (names === '' || names === `pool ${cause.name}` ? '' : `${names} ${verb(isPlural, 'wait')}: `) +
      `the operator rejects ${formatRejected(cause)}`,
    repairs: ({ kind, name, setting }) => {
      const text = `correct ${formatRejected({ kind, name, setting })}${setting === undefined ? ', or delete it' : ''}`;
      return [{ name: 'correctSource', text, command: shell`oc edit ${verbatim(kind.toLowerCase())} ${name}` }];
    },
  },

  SourceNotRendered: {
    sentence: ({ source }, names) => `the config of ${names} does not contain MachineConfig ${source}`,
    repairs: () => [readOperatorLog('machine-config-controller')],
  },

  SpecEmpty: {
    sentence: (_cause, names) =>
      `the spec.configuration.name of ${names} is empty: the operator has not rendered a config yet`,
    repairs: () => [readOperatorLog('machine-config-controller')],
  },

  StatusEmpty: {
    sentence: (_cause, names) =>
      `the status.configuration.name of ${names} is empty: ` +
      'the machine-config-server answers new machines with HTTP 500',
    repairs: ({ referrer, needsUnpause, replacement }) => [
      ...(needsUnpause ? [unpause(referrer.name)] : []),
      ...setStatus(referrer.name, replacement),
    ],
  },

  PoolPaused: {
    summary: () => 'behind',
    sentence: ({ by, since }, names, isPlural) =>
      `${names} ${be(isPlural)} paused${formatDetails(since, by && `by ${by}`)}, and ${be(isPlural)} not updated`,
    repairs: ({ referrer }) => [unpause(referrer.name)],
  },

  RolloutStalled: {
    sentence: ({ config, updatedMachineCount, machineCount }, names) =>
      `the roll-out of ${formatName(config)} in ${names} does not move: ` +
      `${updatedMachineCount} of ${machineCount} machines are updated`,
    more: ({ build, deployment, unusedBy }) => {
      if (unusedBy !== undefined) return [`MachineOSConfig ${unusedBy} does not name the image of build ${build}`];
      if (build !== undefined) return [`MachineOSBuild ${formatName(build)} has not ended`];
      return [deployment === 'machine-os-builder' ? 'No MachineOSBuild of the config exists' : ''];
    },
    repairs: ({ build, deployment, unusedBy }) => {
      if (build === undefined) return [readOperatorLog(deployment)];
      if (unusedBy !== undefined) return [forgetBuild(unusedBy, 'takes the image of the build')];
      const text = `see why the pods of build ${build} do not end`;
      const command = shell`oc get pods -n ${OPERATOR_NAMESPACE} -l ${MCO_GROUP}/machine-os-build=${build}`;
      return [{ name: 'readLog', text, command }];
    },
    isRepairedWhileWaiting: true,
  },

  PoolDegraded: {
    summary: (_field, { condition }) => condition ?? 'Degraded by its nodes',
    sentence: ({ condition, evidence }, names, isPlural) =>
      condition === undefined
        ? `${names} ${be(isPlural)} Degraded because of ${isPlural ? 'their' : 'its'} nodes`
        : `${names} ${be(isPlural)} ${condition}${evidence ? '' : ', without a message'}`,
    more: ({ condition }) => [condition === 'NodeDegraded' ? 'The annotations of its nodes do not say so' : ''],
    repairs: ({ condition, evidence = '', waiting, referrer: { name } }) => {
      if (condition === undefined) return [];
      const further = readFurther(evidence);
      // The status of a pool follows its nodes, so it says for some seconds what has ended already.
      if (further.length > 0 || waiting.helps) return further;
      // The operator also counts the nodes whose MachineConfigNode says so (pkg/controller/node/status.go).
      if (condition === 'NodeDegraded') return [readNodeStates()];
      const isAboutConfig = evidence.includes('could not get current MachineConfig');
      if (condition !== 'RenderDegraded' || isBetweenReleases(evidence) || isAboutConfig) {
        return [readOperatorLog('machine-config-controller')];
      }
      // Without the MachineConfigs of the workers, the nodes of a custom pool would lose their kubelet.
      const text = evidence.includes('found matching selector')
        ? `correct the machineConfigSelector of pool ${name}. That of a custom pool also selects those of pool worker`
        : `correct the source MachineConfig of pool ${name} that the message is about`;
      return [{ name: 'correctSource', text }];
    },
    isRepairedWhileWaiting: true,
  },

  PausedForRestore: {
    sentence: ({ config }, names) => `a restore of ${formatName(config)} has paused ${names}`,
    repairs: ({ referrer: { name }, config, canContinue, isMissing }) => {
      const giveUp: Repair = {
        name: 'continueRestore',
        text: `pool ${name}: unpause it only to give up the restore`,
        command: toUnpauseCommand(name),
        alternative: canContinue,
      };
      if (!canContinue || isMissing) return [giveUp];
      const text = `pool ${name}: continue the restore if it has ended early`;
      const command = shell`machineconfig-guard restore ${config} --confirm`;
      return [{ name: 'continueRestore', text, command }, giveUp];
    },
  },

  BuildFailed: {
    sentence: ({ build }, names) => `the OS image of ${names} was not built: MachineOSBuild ${build} failed`,
    repairs: ({ build, osConfig, canBeRepeated }) => {
      if (!canBeRepeated) {
        const command = shell`oc delete machineosbuild ${build}`;
        return [{ name: 'deleteBuild', text: 'delete the failed build. The operator starts another one', command }];
      }
      const text = `correct the cause, and then build the image of MachineOSConfig ${osConfig} again`;
      const command = shell`oc annotate machineosconfig ${osConfig} --overwrite ${MCO_GROUP}/rebuild=`;
      return [{ name: 'rebuild', text, command }];
    },
  },

  BuildGone: {
    sentence: ({ build, osConfig, exists }, names) =>
      `${names} waits for MachineOSBuild ${formatName(build)}, which MachineOSConfig ${osConfig} ` +
      `names, but which ${exists ? 'is of another config' : 'does not exist'}`,
    repairs: ({ osConfig }) => [forgetBuild(osConfig, 'starts a new build')],
  },
};

export const CAUSE_CODES = Object.keys(RULES) as readonly CauseCode[];

/** The rule of a cause. */
export function getRule<Own extends Cause>({ code }: Own): CauseRule<Own> {
  return RULES[code] as unknown as CauseRule<Own>;
}

/** What the column CHECK says of a cause. */
export function summarize(cause: Cause, field: string): string {
  const words = cause.code
    .replaceAll(/(?=[A-Z])/g, ' ')
    .trim()
    .toLowerCase();
  return getRule(cause).summary?.(field, cause) ?? words;
}

/** The repairs that are of use now: none while waiting can help, unless a person decides anyway. */
export function listRepairs(cause: Cause): readonly Repair[] {
  const { repairs, isRepairedWhileWaiting = false } = getRule(cause);
  return cause.waiting.helps && !isRepairedWhileWaiting ? [] : (repairs?.(cause) ?? []);
}

function repairMissingConfig(cause: ConfigMissing): readonly Repair[] {
  const { referrer, field, config, copyOn, hasBootstrapHost, replacement, lostSince, removal } = cause;
  const { kind, name } = referrer;
  if (kind === 'MachineOSBuild') {
    const text = `delete build ${name}. The operator starts one for the config of the pool`;
    return [{ name: 'deleteBuild', text, command: shell`oc delete machineosbuild ${name}` }];
  }
  const repairs: Repair[] = [];
  if (copyOn !== undefined) {
    const place = hasBootstrapHost ? `. On the bootstrap host use --from ${BOOTSTRAP_CONFIGS}` : '';
    const text = `create the missing config again; without --confirm this writes nothing${place}`;
    const command = shell`machineconfig-guard restore ${config} --from node/${copyOn}`;
    repairs.push({ name: 'restore', text, command });
  }
  if (kind === 'MachineConfigPool') {
    if (field === 'status') return [...repairs, ...setStatus(name, replacement)];
    if (replacement === undefined) return repairs;
    const text = `pool ${name}: name a config that exists. ${UNUSED}`;
    const command = patchPool(name, { spec: { configuration: { name: replacement } } });
    return [...repairs, { name: 'resetSpec', text, command }];
  }
  if (lostSince !== undefined) {
    // The operator then gives it another desired config.
    const isNeeded = cause.wasRun || field !== 'desiredConfig';
    const text = isNeeded
      ? 'if the machine of the node comes back: start its kubelet, and restore the config from a copy'
      : 'start the machine or the kubelet of each lost node. The operator then gives it the config of its pool';
    const start: Repair = { name: 'changeBack', text, alternative: isNeeded };
    return [...(repairs.length > 0 ? repairs : [start]), ...deleteLostNode(name, removal)];
  }
  return [...repairs, ...repairReference(cause)];
}

/** Lets the annotations of a node name another config than the missing one. */
function repairReference(cause: ConfigMissing): readonly Repair[] {
  const { referrer, field, fields, wasRun, replacement, isFirstBoot } = cause;
  if (replacement === undefined) return [];
  if (field === 'desiredConfig' && !wasRun) {
    const text = `set desiredConfig to a config that exists. ${UNUSED}`;
    return [annotateNode('resetDesired', text, referrer.name, { desiredConfig: replacement })];
  }
  // The daemons do not observe maxUnavailable: they would drain and reboot all nodes at once. Only after a first boot
  // that changed nothing, they do not reboot.
  const rest = isFirstBoot ? '. Files that only the missing config has stay on the disk for ever' : '';
  const how = `Do it node by node: the daemon changes the disk to it, with one reboot${rest}`;
  const other = `${formatName(replacement)}, the config of the pool`;
  const text = `if no copy of the missing config exists: name ${other}. ${how}`;
  const annotations = Object.fromEntries(fields.map((each) => [each, replacement]));
  const repair = annotateNode('nameConfigOfPool', text, referrer.name, annotations);
  return [{ ...repair, alternative: true, oneAtATime: 'restart' }];
}

function repairDisk(cause: DiskDiffers): readonly Repair[] {
  const { referrer, difference, comparedWith, isAtRest, annotatedBy } = cause;
  const { name } = referrer;
  if (annotatedBy !== undefined) return [readDisk(name), forceConfig(name)];
  const end = isAtRest ? 'The node is then Done within 2 minutes' : 'The update then goes on';
  if (difference.type === 'kernelArguments') {
    const text = `add the missing kernel arguments. ${end}. The arguments take effect at the next boot`;
    const { missing } = difference;
    const flags = missing.map((argument) => verbatim(`--append=${argument}`));
    const isSafe = missing.length > 0 && missing.every((argument) => KERNEL_ARGUMENT.test(argument));
    const command = isSafe ? onHost(name, shell`rpm-ostree kargs ${flags}`) : undefined;
    return [{ name: 'changeBack', text, command, oneAtATime: 'other' }];
  }
  if (difference.type === 'record') {
    const text = `move the damaged file away. The daemon does without it, and compares the disk. ${end}`;
    const command = onHost(name, shell`mv ${[RECORD_FILE, `${RECORD_FILE}.damaged`].map(verbatim)}`);
    return [{ name: 'changeBack', text, command, oneAtATime: 'other' }];
  }
  const repairs: Repair[] = [forceConfig(name)];
  if (difference.type === 'osImage') {
    // The daemon quotes why the last boot did not install the image (pkg/daemon/daemon.go).
    const text = cause.evidence.includes('possible root cause: ')
      ? 'end the root cause that the message names, such as a full /boot. Then force the update'
      : 'see which OS images the node has. If the expected one is staged, reboot the node';
    const command = onHost(name, shell`rpm-ostree status`);
    repairs.push({ name: 'changeBack', text, command, oneAtATime: 'restart' });
  } else {
    const what = difference.type === 'file' ? `file "${quote(difference.path)}"` : 'the disk';
    repairs.push({ name: 'changeBack', text: `put ${what} back as ${quote(comparedWith)} has it. ${end}` });
  }
  // The annotations of a node whose first boot changed nothing can name another config than its disk has.
  if (isAtRest) repairs.push({ ...readDisk(name), alternative: true });
  return repairs;
}

/** Empty if the text says everything that is known. */
function readFurther(evidence: string): readonly Repair[] {
  // Only the MachineConfigNodes have the errors of single images.
  if (/PinnedImageSet list|MachineConfigNode resource/.test(evidence)) return [readNodeStates()];
  return FURTHER_LOGS.filter(([text]) => evidence.includes(text)).map(([, deployment]) => readOperatorLog(deployment));
}

function readNodeStates(): Repair {
  const text = 'see what the MachineConfigNode of each node reports';
  return { name: 'readLog', text, command: shell`oc describe machineconfignodes` };
}

/** First for the budgets that waiting does not change. */
function endDrain(node: string, { budgets, endingPods, graceEnd }: DrainObstacles): readonly Repair[] {
  if (budgets.length > 0) return allowDisruption(budgets);
  // The pods end by themselves.
  if (graceEnd !== undefined) return [];
  // It has the errors of all evictions.
  if (endingPods.length === 0) return [readOperatorLog('machine-config-controller')];
  const text = 'see why the evicted pods do not end, such as a finalizer or a volume';
  const command = shell`oc get pods -A --field-selector=spec.nodeName=${node}`;
  return [{ name: 'allowDisruption', text, command }];
}

function allowDisruption(budgets: readonly BlockingBudget[]): readonly Repair[] {
  const permanent = budgets.filter(({ isTemporary }) => isTemporary !== true);
  const groups = groupBy(permanent.length > 0 ? permanent : budgets, chooseRemedy);
  return [...groups].map(([remedy, group]) => {
    const text = REMEDIES[remedy](joinFirst(group.map(formatBudgets)));
    const command = remedy === 'migrate' ? shell`oc get virtualmachineinstancemigrations -A` : undefined;
    return { name: 'allowDisruption', text, command };
  });
}

function chooseRemedy(budget: BlockingBudget): keyof typeof REMEDIES {
  if (isShared(budget)) return 'select';
  if (budget.isUncounted === true) return 'count';
  if (budget.isOfMachine === true) return 'migrate';
  return budget.isTemporary === true ? 'wait' : 'replicate';
}

const REMEDIES = {
  select: (budgets: string) => `let only one of these budgets select each pod: ${budgets}`,
  // Kubernetes, "Specifying a Disruption Budget for your Application", arbitrary workloads.
  count: (budgets: string) =>
    `give budget ${budgets} a number of pods as minAvailable: no controller says how many exist`,
  migrate: (budgets: string) => `see why the virtual machine of budget ${budgets} does not migrate, or stop it`,
  replicate: (budgets: string) => `let budget ${budgets} allow a disruption, for example by another replica`,
  wait: (budgets: string) => `see why pods of budget ${budgets} are not ready. Leave the budget as it is`,
};

function explainDeletion({ explanation, deletedAt, deletedBy, deletionReason }: Partial<MissingConfigReport>): string {
  if (!deletedAt) return quote(explanation ?? '');
  const time = quote(deletedAt);
  const user = quote(deletedBy ?? '');
  if (user === '') return `The guard saw its deletion at ${time}`;
  const reason = deletionReason ? ` for the reason "${quote(deletionReason)}"` : '';
  return `The guard allowed "${user}" to delete it at ${time}${reason}`;
}

export function approveRequest(request: string): Repair {
  return {
    name: 'approveRequests',
    text: 'approve pending certificate requests of nodes; check the requestors first',
    command: shell`oc adm certificate approve ${TARGETS}`,
    targets: [request],
  };
}

/** A machine that is no node yet gets the rights of one. Its kubelet asks again every 15 minutes. */
export function approveMachine(request: string, node: string | null): Repair {
  const text = `only if ${node ?? 'the requestor'} is one of your machines: approve its certificate request`;
  return { name: 'approveRequests', text, command: shell`oc adm certificate approve ${request}` };
}

/** A node would get the name of every machine without a host name. */
export function nameMachine(node: string | null): Repair {
  const text = `do not approve the requests of ${node}: a machine has no host name. Give it one, and it asks again`;
  return { name: 'approveRequests', text };
}

function uncordon(node: string): Repair {
  const text = 'uncordon the node. The operator then goes on within a minute';
  return { name: 'uncordon', text, command: shell`oc adm uncordon ${TARGETS}`, targets: [node] };
}

/** Its place among the repairs is that of the opposite one. */
function cordonAgain(node: string): Repair {
  const text = 'cordon the node. The operator does so only when a drain begins';
  return { name: 'uncordon', text, command: shell`oc adm cordon ${TARGETS}`, targets: [node] };
}

function deleteLostNode(node: string, removal: Removal | undefined): readonly Repair[] {
  if (removal === undefined) return [];
  const also = removal === 'node' ? '' : ', after its etcd member has been removed';
  const text = `only if the machine of the node is lost for good: delete the node${also}. Its pool then goes on`;
  return [{ name: 'deleteNode', text, command: shell`oc delete node ${node}`, alternative: true, oneAtATime: 'other' }];
}

function annotateNode(
  name: Repair['name'],
  text: string,
  node: string,
  annotations: Readonly<Record<string, string>>,
): Repair {
  const words = Object.entries(annotations).map(([field, config]) => shell`${MCO_GROUP}/${verbatim(field)}=${config}`);
  return { name, text, command: shell`oc annotate node ${TARGETS} --overwrite ${words}`, targets: [node] };
}

function labelNode(name: Repair['name'], text: string, node: string, labels: readonly string[]): Repair {
  return { name, text, command: shell`oc label node ${TARGETS} --overwrite ${labels.map(verbatim)}`, targets: [node] };
}

/** The machine-config-daemon of the node reads its own disk for `restore`. */
function readDisk(node: string): Repair {
  const text =
    'if a person has changed the annotations of the node: see which config its disk has, and create it again if it ' +
    'is missing. Without --confirm this writes nothing';
  const command = shell`machineconfig-guard restore --from node/${node}`;
  return { name: 'readDisk', text, command, oneAtATime: 'other' };
}

function forceConfig(node: string): Repair {
  const text =
    'only if the difference can go: force the update. The daemon drains the node, writes the config without ' +
    'comparing the disk, and reboots. ' +
    'Files that only another config contains stay';
  const command = onHost(node, shell`touch ${verbatim(FORCE_FILE)}`);
  return { name: 'force', text, command, alternative: true, oneAtATime: 'restart' };
}

function onHost(node: string, command: ShellCommand | undefined): ShellCommand | undefined {
  return shell`oc debug node/${node} -- chroot /host ${command}`;
}

/** The name of its pod is random. */
function findDaemon(node: string): Repair {
  const text = 'see whether the machine-config-daemon of the node runs, and read its log';
  const pods = shell`oc get pods -n ${OPERATOR_NAMESPACE} -l k8s-app=machine-config-daemon`;
  const command = shell`${pods} --field-selector=spec.nodeName=${node}`;
  return { name: 'readLog', text, command, oneAtATime: 'other' };
}

/** The operator then looks for a build of the config (createNewMachineOSBuildOrReuseExisting). */
function forgetBuild(osConfig: string, effect: string): Repair {
  const text = `remove the annotation of MachineOSConfig ${osConfig}. The operator then ${effect}`;
  const command = shell`oc annotate machineosconfig ${osConfig} ${MCO_GROUP}/current-machine-os-build-`;
  return { name: 'rebuild', text, command };
}

function readOperatorLog(deployment: string): Repair {
  const command = shell`oc logs -n ${OPERATOR_NAMESPACE} deployment/${deployment} --tail=20`;
  return { name: 'readLog', text: 'read the log of the operator', command };
}

/** The pause is the decision of a person, and no problem. */
export function remindOfPause({ name, paused, pause }: InspectedPool): readonly Repair[] {
  if (!paused) return [];
  const { text, ...repair } = unpause(name);
  const by = pause === undefined ? '' : `. It was paused by ${quote(pause.manager)}`;
  return [{ ...repair, text: text + by, alternative: true }];
}

function unpause(pool: string): Repair {
  const text =
    `pool ${pool}: unpause it once the pause has served its purpose. ` +
    'The operator then drains and reboots its nodes';
  return { name: 'unpause', text, command: patchPool(pool, { spec: { paused: false } }) };
}

function setStatus(pool: string, config: string | undefined): readonly Repair[] {
  if (config === undefined) return [];
  const text = `pool ${pool}: set the status, from which new machines get their config`;
  const patch = { status: { configuration: { name: config } } };
  return [{ name: 'setStatus', text, command: patchPool(pool, patch, verbatim('--subresource=status')) }];
}

/** A restore would take the next pause by a person for its own. */
export function removeRestoreMark({ name, paused, pausedFor }: InspectedPool): readonly Repair[] {
  if (paused || pausedFor === undefined) return [];
  const text = `pool ${name}: it is not paused, so remove the mark of a restore`;
  return [{ name: 'continueRestore', text, command: toRemoveMarkCommand(name) }];
}
