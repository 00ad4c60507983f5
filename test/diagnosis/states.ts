import {
  parseInspectedBuild,
  parseInspectedNode,
  parseInspectedOsConfig,
  parseInspectedPool,
} from '../../src/client/inspected-objects.ts';
import type {
  ClusterSnapshot,
  Condition,
  ControlPlaneSize,
  DrainObstacles,
} from '../../src/diagnosis/cluster-snapshot.ts';
import { OPERATOR_STATES } from './operator-states.ts';
import { REASONS } from '../support/daemon-reasons.ts';
import {
  buildBuild,
  buildNode,
  type BuildOptions,
  buildOsConfig,
  buildPool,
  type NodeOptions,
  type OsConfigOptions,
  type PoolOptions,
} from '../support/operator-objects.ts';
import { listConfigs, nameConfigs, type RenderedContent } from '../support/rendered-configs.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';

/** A state of a cluster, with what `check` must say. */
export interface State {
  /** The public report from which it was rebuilt, without its names and hosts, or who made it up. */
  readonly source: string;
  readonly nodes: Readonly<Record<string, NodeOptions>>;
  readonly pools: Readonly<Record<string, PoolOptions>>;
  /** Those that exist. By default A and B of each pool. */
  readonly configs?: readonly ConfigName[];
  readonly builds?: Readonly<Record<string, BuildOptions>>;
  readonly osConfigs?: Readonly<Record<string, OsConfigOptions>>;
  readonly controlPlane?: ControlPlaneSize;
  /** The names of pending certificate requests, and the nodes that wait for them. */
  readonly requests?: Readonly<Record<string, string>>;
  /** The signers of requests, if not that of client certificates. */
  readonly signers?: Readonly<Record<string, string>>;
  /** What `check` reads once something does not move. */
  readonly obstacles?: Pick<
    ClusterSnapshot,
    'drainObstacles' | 'failedSources' | 'operatorFailure' | 'sources' | 'stoppedOperators'
  >;
  /** The codes of all problems, with a question mark if waiting can help. */
  readonly problems: readonly string[];
  /** The commands of the repairs, or the text of one without a command. An alternative begins with `# `. */
  readonly repairs?: readonly string[];
}

export const NOW = new Date('2026-11-20T12:00:00Z');

const M = nameConfigs('master');
const W = nameConfigs('worker');
const R = nameConfigs('worker-rt');
const I = nameConfigs('infra');
const C = nameConfigs('cnf');
const ARBITER = nameConfigs('arbiter');
/** Misspelled, as in an `oc annotate` by hand. */
const TYPO = toConfigName(W.A.replace('rendered', 'render'));

const MASTER = { roles: ['master'] } as const;
const MCO = 'machineconfiguration.openshift.io';
const ANNOTATE = 'oc annotate node';

function both(config: string): Pick<NodeOptions, 'current' | 'desired'> {
  return { current: config, desired: config };
}

function degraded(reason: string): Pick<NodeOptions, 'state' | 'reason'> {
  return { state: 'Degraded', reason };
}

/** A node whose current and desired config is missing. */
function missing(config: string, reason = REASONS.notFound(config)): NodeOptions {
  return { ...both(config), ...degraded(reason) };
}

function annotations(config: string, ...fields: readonly ('currentConfig' | 'desiredConfig')[]): string {
  return `--overwrite ${fields.map((field) => `${MCO}/${field}=${config}`).join(' ')}`;
}

const FIELDS = ['currentConfig', 'desiredConfig'] as const;
const label = (role: string) => `node-role.kubernetes.io/${role}`;

function setStatus(pool: string, config: string): string {
  const patch = JSON.stringify({ status: { configuration: { name: config } } });
  return `oc patch machineconfigpool ${pool} --subresource=status --type=merge -p ${patch}`;
}

const force = (node: string) => `# oc debug node/${node} -- chroot /host touch /run/machine-config-daemon-force`;

function drainObstacles(node: string, obstacles: Partial<DrainObstacles>): NonNullable<State['obstacles']> {
  return { drainObstacles: new Map([[node, { budgets: [], endingPods: [], ...obstacles }]]) };
}

/** A condition that has been True for two hours. */
function trueCondition(type: string, reason: string, message: string): Condition {
  return { type, status: 'True', reason, message, since: new Date(NOW.getTime() - 7_200_000) };
}

const UNDO =
  'undo the change in the MachineConfig that made it, and then uncordon the node if it is cordoned. The operator ' +
  'takes it back';
const DISK_PRESSURE = { type: 'DiskPressure', message: 'kubelet has disk pressure', minutesAgo: 120 };
const OPERATOR_OFF = { deployment: 'machine-config-controller', state: 'has 0 replicas', isScaledToZero: true };
const OPERATOR_PODS = 'oc get pods -n openshift-machine-config-operator -l';

const nameConfigOfPool = (config: string) =>
  `if no copy of the missing config exists: name ${config}, the config of the pool. ` +
  'Do it node by node: the daemon changes the disk to it, with one reboot';
const FORCE =
  '# only if the difference can go: force the update. The daemon drains the node, writes the config without ' +
  'comparing the disk, and reboots. ' +
  'Files that only another config contains stay. ';
const waitFor = (node: string) =>
  `First wait until node ${node} is Done and ready, and run check again for the command`;

/** Of four nodes, the updated one is cordoned. */
const CORDONED_OF_FOUR: State['nodes'] = {
  'worker-0': { ...both(W.B), cordon: { manager: 'kubectl-cordon', minutesAgo: 300 } },
  ...Object.fromEntries([1, 2, 3].map((index) => [`worker-${index}`, both(W.A)])),
};
/** A roll-out of the config B that began long ago. */
const OLD_ROLLOUT = { spec: W.B, status: W.A, specWrittenMinutesAgo: 300, statusWrittenMinutesAgo: 200 } as const;

export const STATES: Readonly<Record<string, State>> = {
  // A config was never in the API, or is gone.

  R1: {
    source: 'openshift/cluster-version-operator#1076, machine-config-operator#2218',
    nodes: {
      control0: { ...MASTER, ...missing(M.X) },
      control1: { ...MASTER, ...missing(M.X) },
      control2: { ...MASTER, ...missing(M.X) },
    },
    pools: { master: { spec: M.Y, counts: [3, 0, 0, 3] }, worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] } },
    configs: [M.Y, W.A],
    problems: ['ConfigMissing', 'StatusEmpty'],
    repairs: [
      `machineconfig-guard restore ${M.X} --from node/control0`,
      `# ${ANNOTATE} control0 ${annotations(M.Y, ...FIELDS)}`,
    ],
  },
  'R1 from 4.19 on': {
    source: 'as R1, with the reasons of the real daemon of 4.20',
    nodes: {
      control0: { ...MASTER, ...missing(M.X, REASONS.bootstrapMismatch(M.X, M.Y)) },
      control1: { ...MASTER, ...missing(M.X, REASONS.bootstrapDiskUnread) },
    },
    pools: { master: { spec: M.Y, counts: [2, 0, 0, 2] } },
    configs: [M.Y],
    problems: ['ConfigMissing', 'StatusEmpty'],
    repairs: [
      `machineconfig-guard restore ${M.X} --from node/control0`,
      `# ${ANNOTATE} control0 ${annotations(M.Y, ...FIELDS)}`,
    ],
  },
  'R1 while the third master waits for the config': {
    source: 'as R1',
    nodes: { control1: { ...MASTER, ...missing(M.X) }, control2: { ...MASTER, ...missing(M.X) } },
    pools: { master: { spec: M.Y, counts: [2, 0, 0, 2] } },
    configs: [M.Y],
    controlPlane: { masters: 3, arbiters: 0 },
    problems: ['TooFewNodes?', 'ConfigMissing', 'StatusEmpty'],
    repairs: [
      `machineconfig-guard restore ${M.X} --from node/control1`,
      `# ${ANNOTATE} control1 ${annotations(M.Y, ...FIELDS)}`,
    ],
  },
  R2: {
    source: 'openshift/machine-config-operator#2114: as R1, days later',
    nodes: { control0: { ...MASTER, ...missing(M.X) } },
    pools: { master: { spec: M.Y, counts: [1, 0, 0, 1], ageMinutes: 7_200 } },
    configs: [M.Y],
    problems: ['ConfigMissing', 'StatusEmpty'],
    repairs: [
      `machineconfig-guard restore ${M.X} --from node/control0`,
      `# ${ANNOTATE} control0 ${annotations(M.Y, ...FIELDS)}`,
    ],
  },
  'R1 restored': {
    source: 'own: restore has created X, and the daemon has not tried again (the real one takes up to 70 s)',
    nodes: { control0: { ...MASTER, ...missing(M.X, REASONS.bootstrapMismatch(M.X, M.Y)) } },
    pools: { master: { spec: M.Y, status: M.X, counts: [1, 0, 0, 1] } },
    configs: [M.X, M.Y],
    problems: ['Recovering?'],
  },
  R12: {
    source: 'openshift/machine-config-operator#1921',
    nodes: { 'worker-0': missing(W.X), 'worker-1': both(W.Y) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [2, 1, 1, 1], ageMinutes: 7_200 } },
    configs: [W.Y],
    problems: ['ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-0`,
      `# ${ANNOTATE} worker-0 ${annotations(W.Y, ...FIELDS)}`,
    ],
  },
  'a missing config on several nodes, of which the first has just been annotated': {
    source: 'own: its daemon tries again within a minute, then drains and restarts the node',
    nodes: {
      'infra-0': { roles: ['infra'], ...missing(I.X) },
      'worker-0': {
        ...missing(W.Y, REASONS.notFound(W.X)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 1 },
      },
      'worker-1': missing(W.X),
    },
    pools: { infra: { spec: I.Y, status: I.X }, worker: { spec: W.Y, status: W.X, ageMinutes: 7_200 } },
    configs: [I.Y, W.Y],
    problems: ['ConfigMissing', 'Recovering?'],
    repairs: [
      `machineconfig-guard restore ${I.X} --from node/infra-0`,
      `machineconfig-guard restore ${W.X} --from node/worker-1`,
      `# ${ANNOTATE} infra-0 ${annotations(I.Y, ...FIELDS)}`,
      `# ${nameConfigOfPool(W.Y)}. ${waitFor('worker-0')}`,
    ],
  },
  'a missing config on several nodes, of which the first restarts': {
    source: 'own: a daemon that updates a Degraded node says Degraded until it is Done',
    nodes: {
      'worker-0': { ...missing(W.Y, REASONS.notFound(W.X)), notReady: { minutesAgo: 3 } },
      'worker-1': missing(W.X),
    },
    pools: { worker: { spec: W.Y, status: W.X, ageMinutes: 7_200 } },
    configs: [W.Y],
    problems: ['Recovering?', 'NodeNotReady?', 'ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-1`,
      'start the machine or the kubelet of each lost node',
      `# ${nameConfigOfPool(W.Y)}. ${waitFor('worker-0')}`,
    ],
  },
  'a missing config on several nodes, of which the first is back': {
    source: 'own',
    nodes: { 'worker-0': both(W.Y), 'worker-1': missing(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, ageMinutes: 7_200 } },
    configs: [W.Y],
    problems: ['ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-1`,
      `# ${ANNOTATE} worker-1 ${annotations(W.Y, ...FIELDS)}`,
    ],
  },
  R13: {
    source: 'openshift/machine-config-operator#4594',
    nodes: {
      'worker-0': { current: W.A, desired: W.X, ...degraded(REASONS.notFound(W.X)) },
      'worker-1': both(W.A),
    },
    pools: {
      worker: {
        spec: W.X,
        status: W.A,
        counts: [2, 0, 1, 1],
        conditions: [{ type: 'RenderDegraded', message: `could not get current MachineConfig ${W.X}` }],
      },
    },
    problems: ['ConfigMissing', 'PoolDegraded'],
    repairs: [
      `oc patch machineconfigpool worker --type=merge -p {"spec":{"configuration":{"name":"${W.A}"}}}`,
      `${ANNOTATE} worker-0 ${annotations(W.A, 'desiredConfig')}`,
      'oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20',
    ],
  },
  R14: {
    source: 'crc-org/snc#615: a script deleted the desired config, which the operator renders again',
    nodes: { crc: { roles: ['master', 'worker'], current: M.A, desired: M.B, ...degraded('unauthorized') } },
    pools: { master: { spec: M.B, status: M.A, counts: [1, 0, 0, 1] } },
    configs: [M.A],
    problems: ['ConfigMissing?'],
  },
  S1: {
    source: 'openshift-kni/performance-addon-operators#62: a script deleted the pool while a node had its role',
    nodes: {
      'worker-0': both(W.A),
      'worker-1': { roles: ['worker', 'worker-rt'], ...missing(R.X) },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [2, 1, 1, 1] } },
    problems: ['ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${R.X} --from node/worker-1`,
      `# ${ANNOTATE} worker-1 ${annotations(W.A, ...FIELDS)}`,
    ],
  },
  'S1 for a node that was only in the deleted pool': {
    source: 'as S1, with the role that machine-config-operator#1824 documents',
    nodes: { 'worker-0': both(W.A), 'infra-0': { roles: ['infra'], ...missing(I.X) } },
    pools: { worker: { spec: W.A, status: W.A } },
    problems: ['ConfigMissing', 'NotInPool'],
    repairs: [
      `oc label node infra-0 --overwrite ${label('worker')}=`,
      `machineconfig-guard restore ${I.X} --from node/infra-0`,
    ],
  },
  S11: {
    source: 'crc-org/snc#400: all MachineConfigs and all pools deleted, operator scaled down',
    nodes: { 'master-0': { roles: ['master', 'worker'], ...both(M.X), ageMinutes: 10_000 } },
    pools: {},
    configs: [],
    obstacles: {
      stoppedOperators: [{ deployment: 'machine-config-operator', state: 'has 0 replicas', isScaledToZero: true }],
    },
    problems: ['OperatorStopped', 'ConfigMissing'],
    repairs: [
      'oc scale deployment machine-config-operator -n openshift-machine-config-operator --replicas=1',
      `machineconfig-guard restore ${M.X} --from node/master-0`,
    ],
  },
  'S11 early in an install': {
    source: 'own: the bootstrap host has served a config, and the operator has created no pool yet',
    nodes: { 'master-0': { ...MASTER, ...both(M.X), ageMinutes: 10 } },
    pools: {},
    configs: [],
    problems: ['PoolsMissing?', 'ConfigMissing?'],
  },
  S15: {
    source: 'openshift/machine-api-operator#713: a master is lost, and its old config was pruned months later',
    nodes: {
      'master-0': { ...MASTER, ...both(M.Y) },
      'master-1': { ...MASTER, ...both(M.Y) },
      'master-2': {
        ...MASTER,
        ...both(M.X),
        notReady: { minutesAgo: 100_000 },
        cordon: { manager: 'kubectl-cordon', minutesAgo: 100_000 },
      },
    },
    pools: { master: { spec: M.Y, status: M.X, counts: [3, 2, 2, 0] } },
    configs: [M.Y],
    problems: ['ConfigMissing'],
    repairs: [
      '# if the machine of the node comes back: start its kubelet, and restore the config from a copy',
      '# oc delete node master-2',
    ],
  },
  S18: {
    source: 'openshift/machine-config-operator#2635: the old config was deleted during a roll-out',
    nodes: {
      'worker-0': { current: W.X, desired: W.Y, ...degraded(REASONS.missing(W.X)) },
      'worker-1': missing(W.X, REASONS.missing(W.X)),
    },
    pools: { worker: { spec: W.Y, status: W.X, counts: [2, 0, 0, 2] } },
    configs: [W.Y],
    problems: ['ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-0`,
      `# ${ANNOTATE} worker-0 ${annotations(W.Y, 'currentConfig')}`,
    ],
  },
  'S26 with a config that is gone': {
    source: 'machine-config-operator#4308, #5161: nobody continues the build',
    nodes: { 'worker-0': both(W.Y) },
    pools: { worker: { spec: W.Y, status: W.Y } },
    builds: { 'worker-dead': { config: W.X, osConfig: 'worker', conditions: [{ type: 'Building' }] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-dead' } },
    configs: [W.Y],
    problems: ['ConfigMissing'],
    repairs: ['oc delete machineosbuild worker-dead'],
  },
  'S27 in a pool with expressions': {
    source: 'own, from the API reference of MachineConfigPool',
    nodes: { 'worker-1': { roles: ['infra'], ...missing(C.X) } },
    pools: {
      cnf: {
        spec: C.Y,
        status: C.Y,
        counts: [0, 0, 0, 0],
        nodeSelector: { matchExpressions: [{ key: label('cnf'), operator: 'Exists' }] },
      },
      worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] },
    },
    configs: [C.Y, W.A],
    problems: ['ConfigMissing', 'NotInPool'],
    repairs: [
      `oc label node worker-1 --overwrite ${label('cnf')}=`,
      `machineconfig-guard restore ${C.X} --from node/worker-1`,
    ],
  },
  'two missing configs': {
    source: 'own',
    nodes: { 'worker-0': { current: W.X, desired: W.Z, ...degraded(REASONS.notFound(W.Z)) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['ConfigMissing', 'ConfigMissing?'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-0`,
      `# ${ANNOTATE} worker-0 ${annotations(W.A, 'currentConfig')}`,
    ],
  },
  'a desired config that another node runs': {
    source: 'own: the operator takes the node back, once the other one is available',
    nodes: {
      'worker-0': { current: W.A, desired: W.X, ...degraded(REASONS.notFound(W.X)) },
      'worker-1': missing(W.X),
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [2, 0, 0, 2] } },
    problems: ['ConfigMissing?', 'ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-1`,
      `# ${ANNOTATE} worker-1 ${annotations(W.A, ...FIELDS)}`,
    ],
  },
  'no config of the pool exists': {
    source: 'own',
    nodes: { 'worker-0': { current: W.A, desired: W.X, ...degraded(REASONS.notFound(W.X)) } },
    pools: {
      worker: {
        spec: W.Z,
        counts: [1, 0, 0, 1],
        conditions: [{ type: 'RenderDegraded', message: `could not get current MachineConfig ${W.Z}` }],
      },
    },
    problems: ['ConfigMissing?', 'ConfigMissing', 'StatusEmpty', 'PoolDegraded'],
    repairs: [
      `oc patch machineconfigpool worker --type=merge -p {"spec":{"configuration":{"name":"${W.A}"}}}`,
      setStatus('worker', W.A),
      'oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20',
    ],
  },
  typo: {
    source: 'field notes on forcing a node to a config',
    nodes: { 'worker-0': missing(TYPO) },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    configs: [W.A],
    problems: ['ConfigMissing'],
    repairs: [`# ${ANNOTATE} worker-0 ${annotations(W.A, ...FIELDS)}`],
  },

  // Pools and roles.

  R20: {
    source: 'openshift/machine-config-operator#2148',
    nodes: { 'worker-0': { current: W.A } },
    pools: { worker: { spec: W.A, status: W.A } },
    problems: ['NotReported?'],
  },
  'no desired config in a paused pool': {
    source: 'own: the operator sets desiredConfig only when the pool is no longer paused',
    nodes: { 'worker-0': { current: W.A, ...degraded(REASONS.desiredAbsent('worker-0')) } },
    pools: { worker: { spec: W.A, status: W.A, paused: true } },
    problems: ['NotReported'],
    repairs: [`${ANNOTATE} worker-0 ${annotations(W.A, 'desiredConfig')}`],
  },
  'no desired config, and the operator sets it': {
    source: 'own, with the text of 4.14, 4.15 and 4.21, in which the name is empty',
    nodes: { 'worker-0': { current: W.A, ...degraded(REASONS.notFound('')) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['NotReported?'],
  },
  'a desired config that was removed and is back': {
    source: 'real daemon: Done 14 to 40 s later, and the reason stays until then',
    nodes: { 'worker-0': { ...both(W.A), ...degraded(REASONS.notFound('')) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['Recovering?'],
  },
  R21: {
    source: 'openshift/machine-config-operator#4097',
    nodes: { 'worker-4': { roles: [], ...both(W.X) } },
    pools: { worker: { spec: W.Y, status: W.Y, counts: [0, 0, 0, 0] } },
    configs: [W.X, W.Y],
    problems: ['NotInPool'],
    repairs: [`oc label node worker-4 --overwrite ${label('worker')}=`],
  },
  'R21 with a config that is gone': {
    source: 'as R21',
    nodes: { 'worker-4': { roles: [], ...missing(W.X) } },
    pools: { worker: { spec: W.Y, status: W.Y, counts: [0, 0, 0, 0] } },
    configs: [W.Y],
    problems: ['ConfigMissing', 'NotInPool'],
    repairs: [
      `oc label node worker-4 --overwrite ${label('worker')}=`,
      `machineconfig-guard restore ${W.X} --from node/worker-4`,
    ],
  },
  'moved to another pool': {
    source: 'own',
    nodes: { 'worker-0': { current: I.X, desired: W.A, ...degraded(REASONS.notFound(I.X)) } },
    pools: {
      infra: { spec: I.Y, status: I.Y, counts: [0, 0, 0, 0] },
      worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] },
    },
    configs: [W.A, I.Y],
    problems: ['ConfigMissing'],
    repairs: [`# ${ANNOTATE} worker-0 ${annotations(W.A, 'currentConfig')}`],
  },
  'moved to another custom pool': {
    source: 'own',
    nodes: {
      'worker-0': { roles: ['worker-rt', 'worker'], current: I.X, desired: R.A, ...degraded(REASONS.notFound(I.X)) },
    },
    pools: {
      'worker-rt': { spec: R.A, status: R.A, counts: [1, 0, 0, 1] },
      infra: { spec: I.Y, status: I.Y, counts: [0, 0, 0, 0] },
      worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] },
    },
    configs: [W.A, I.Y, R.A],
    problems: ['ConfigMissing'],
    repairs: [`# ${ANNOTATE} worker-0 ${annotations(R.A, 'currentConfig')}`],
  },
  'a worker that names a missing config of masters': {
    source: 'own: a hostile node',
    nodes: { compute0: both(M.X), control0: { ...MASTER, ...missing(M.X) } },
    pools: {
      master: { spec: M.Y, status: M.Y, counts: [1, 0, 0, 1] },
      worker: { spec: W.A, status: W.A },
    },
    configs: [M.Y, W.A],
    problems: ['ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${M.X} --from node/control0`,
      `# ${ANNOTATE} compute0 ${annotations(W.A, ...FIELDS)}`,
      `# ${ANNOTATE} control0 ${annotations(M.Y, ...FIELDS)}`,
    ],
  },
  R22: {
    source: 'openshift/machine-config-operator#429',
    nodes: { 'worker-0': { roles: ['worker', 'worker-rt'], ...both(R.A) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] }, 'worker-rt': { spec: R.A, status: R.A } },
    problems: [],
  },
  'R22 with two custom roles': {
    source: 'openshift/machine-config-operator#429',
    nodes: { 'worker-0': { roles: ['worker', 'worker-rt', 'infra'], ...both(R.A) } },
    pools: {
      infra: { spec: I.Y, status: I.Y, counts: [0, 0, 0, 0] },
      worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] },
      'worker-rt': { spec: R.A, status: R.A, counts: [0, 0, 0, 0] },
    },
    configs: [W.A, R.A, I.Y],
    problems: ['PoolConflict'],
    repairs: [`oc label node worker-0 --overwrite ${label('infra')}-`],
  },
  'a deleted pool': {
    source: 'own: the scenario pool-deleted of the real operator, before a label changes',
    nodes: {
      'infra-0': { roles: ['worker', 'infra'], ...both(I.A) },
      'infra-1': { roles: ['worker'], ...both(I.A) },
      'infra-2': { roles: ['worker', 'infra'], current: I.A, desired: W.A },
      'worker-0': { roles: ['worker'], ...both(W.A) },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [4, 1, 4, 0] } },
    problems: ['PoolDeleted?'],
    repairs: [`oc label node infra-0 --overwrite ${label('infra')}-`],
  },
  'a deleted pool, and a paused one': {
    source: 'own: the operator updates no node of a paused pool',
    nodes: { 'infra-0': { roles: ['worker', 'infra'], ...both(I.A) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 1, 0], paused: true } },
    problems: [],
    repairs: ['# oc patch machineconfigpool worker --type=merge -p {"spec":{"paused":false}}'],
  },
  'S27 without its role': {
    source: 'own: the selector can be met by several labels',
    nodes: { 'worker-1': { roles: [], ...both(C.Y), labels: { zone: 'b', retired: 'yes' } } },
    pools: {
      cnf: {
        spec: C.Y,
        status: C.Y,
        counts: [0, 0, 0, 0],
        nodeSelector: {
          matchLabels: { rack: '7' },
          matchExpressions: [
            { key: 'zone', operator: 'In', values: ['a', 'c'] },
            { key: 'retired', operator: 'DoesNotExist' },
          ],
        },
      },
    },
    configs: [C.Y],
    problems: ['NotInPool'],
    repairs: ['oc label node worker-1 --overwrite rack=7 zone=a retired-'],
  },
  S13: {
    source: 'machine-config-operator#5436, installer#9159: a control plane with an arbiter (4.20)',
    nodes: { 'master-0': { ...MASTER, ...both(M.Y) }, 'master-1': { ...MASTER, ...both(M.Y) } },
    pools: { master: { spec: M.Y, status: M.Y, counts: [2, 2, 2, 0] } },
    configs: [M.Y],
    controlPlane: { masters: 2, arbiters: 1 },
    problems: ['TooFewNodes?'],
  },
  'S13 with the arbiter': {
    source: 'as S13',
    nodes: {
      'master-0': { ...MASTER, ...both(M.Y) },
      'master-1': { ...MASTER, ...both(M.Y) },
      arbiter: { roles: ['arbiter'], ...both(ARBITER.Y) },
    },
    pools: {
      master: { spec: M.Y, status: M.Y, counts: [2, 2, 2, 0] },
      arbiter: {
        spec: ARBITER.Y,
        status: ARBITER.Y,
      },
    },
    configs: [M.Y, ARBITER.Y],
    controlPlane: { masters: 2, arbiters: 1 },
    problems: [],
  },
  R25: {
    source: 'assisted-installer, OCPBUGS-96696: the third master waits for its certificate request',
    nodes: { control0: { ...MASTER, ...both(M.Y) }, control1: { ...MASTER, ...both(M.Y) } },
    pools: { master: { spec: M.Y, status: M.Y, counts: [2, 2, 2, 0] } },
    configs: [M.Y],
    controlPlane: { masters: 3, arbiters: 0 },
    requests: { 'csr-8vnps': 'control2' },
    problems: ['TooFewNodes?'],
    repairs: ['oc adm certificate approve csr-8vnps'],
  },
  R28: {
    source: 'machine-config-operator#2562: nothing is wrong with nodes and pools',
    nodes: { control0: { ...MASTER, ...both(M.Y) }, control1: { ...MASTER, ...both(M.Y) } },
    pools: { master: { spec: M.Y, status: M.Y, counts: [2, 2, 2, 0] } },
    configs: [M.Y],
    problems: [],
  },

  // Nothing is missing, and the node does not move.

  S2: {
    source: 'okd-project/okd#593, machine-config-operator#1578, openshift/runbooks#214',
    nodes: {
      'worker-1': {
        current: W.A,
        desired: W.B,
        ...degraded(
          'failed to drain node (5 tries): timed out waiting for the condition: [error when evicting pods/"es"]',
        ),
        cordon: { manager: 'machine-config-controller', minutesAgo: 90 },
      },
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [3, 1, 1, 1] } },
    problems: ['DrainBlocked'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20'],
  },
  'S2 with the text of 4.20, before the daemon gives up': {
    source: 'own: the controller has drained for 20 minutes',
    nodes: {
      'worker-1': {
        current: W.A,
        desired: W.B,
        state: 'Working',
        drainingForMinutes: 20,
        cordon: { manager: 'machine-config-controller', minutesAgo: 20 },
      },
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [3, 1, 1, 0] } },
    problems: ['DrainBlocked?'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20'],
  },
  'S2 with the text of 4.20, after an hour': {
    source: 'own, with the text of the real daemon of 4.20',
    nodes: {
      'worker-1': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.drain('worker-1')),
        drainingForMinutes: 70,
        cordon: { manager: 'machine-config-controller', minutesAgo: 70 },
      },
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [3, 1, 1, 1] } },
    obstacles: drainObstacles('worker-1', {
      budgets: [{ namespace: 'db', name: 'db-pdb', pods: ['db-0'] }],
    }),
    problems: ['DrainBlocked'],
    repairs: ['let budget db/db-pdb allow a disruption, for example by another replica'],
  },
  S3: {
    source: 'okd-project/okd#1474 (4.10 to 4.11)',
    nodes: {
      'master-0': {
        ...MASTER,
        ...both(M.A),
        ...degraded(REASONS.kernelArguments(M.A, 'mitigations=off intel_pstate=disable')),
      },
    },
    pools: { master: { spec: M.B, status: M.A, counts: [3, 0, 0, 3] } },
    problems: ['DiskDiffers'],
    repairs: [
      'oc debug node/master-0 -- chroot /host rpm-ostree kargs --append=mitigations=off --append=intel_pstate=disable',
    ],
  },
  S4: {
    source: 'okd-project/okd#412 and #411 (proxy, 4.5 to 4.6)',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.diskDiffers(W.A, '/etc/systemd/system/kubelet.service.d/10-mco-default-env.conf')),
      },
      'worker-1': both(W.B),
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 1, 1, 1] } },
    problems: ['DiskDiffers'],
    repairs: [
      'put file "/etc/systemd/system/kubelet.service.d/10-mco-default-env.conf" back as ' +
        `${W.A} has it. The update then goes on`,
      force('worker-0'),
    ],
  },
  R18: {
    source: 'okd-project/okd#1037: the reason names the config of the annotation',
    nodes: { 'worker-0': { current: W.Y, desired: W.B, ...degraded(REASONS.diskDiffers(W.Y)) } },
    pools: { worker: { spec: W.B, status: W.Y, counts: [1, 0, 0, 1] } },
    configs: [W.Y, W.B],
    problems: ['DiskDiffers'],
    repairs: [`put file "/etc/a" back as ${W.Y} has it. The update then goes on`, force('worker-0')],
  },
  'a file was changed by hand': {
    source: 'own, seen with the real daemon of 4.20',
    nodes: { 'worker-0': { ...both(W.A), ...degraded(REASONS.fileChanged('/etc/a')) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['DiskDiffers'],
    repairs: [
      `put file "/etc/a" back as ${W.A} has it. The node is then Done within 2 minutes`,
      '# machineconfig-guard restore --from node/worker-0',
      force('worker-0'),
    ],
  },
  'files of two nodes were changed by hand, and one node is drained for its repair': {
    source: 'own: the daemon drains and restarts a node with a force file at once',
    nodes: {
      'worker-0': { ...both(W.A), ...degraded(REASONS.fileChanged('/etc/a')), drainingForMinutes: 1 },
      'worker-1': { ...both(W.A), ...degraded(REASONS.fileChanged('/etc/a')) },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [2, 0, 0, 2] } },
    problems: ['Recovering?', 'DiskDiffers'],
    repairs: [
      `put file "/etc/a" back as ${W.A} has it. The node is then Done within 2 minutes`,
      '# machineconfig-guard restore --from node/worker-1',
      FORCE + waitFor('worker-0'),
    ],
  },
  'the OS images of two nodes differ, and a person reboots one node': {
    source: 'own: its kubelet does not answer for some minutes',
    nodes: {
      'worker-0': { ...both(W.A), ...degraded(REASONS.osImage(W.A, 'a', 'b')), notReady: { minutesAgo: 3 } },
      'worker-1': { ...both(W.A), ...degraded(REASONS.osImage(W.A, 'a', 'b')) },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [2, 0, 0, 2] } },
    problems: ['Recovering?', 'DiskDiffers'],
    repairs: [
      'see which OS images the node has. If the expected one is staged, reboot the node. ' + waitFor('worker-0'),
      '# machineconfig-guard restore --from node/worker-1',
      FORCE + waitFor('worker-0'),
    ],
  },
  R38: {
    source: 'every forum: nodes annotated to the config of the pool, and their first boot had changed nothing',
    nodes: {
      control1: {
        ...MASTER,
        ...both(M.Y),
        ...degraded(REASONS.diskDiffers(M.Y)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 30 },
      },
      control2: {
        ...MASTER,
        ...both(M.Y),
        ...degraded(REASONS.diskDiffers(M.Y)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 30 },
      },
    },
    pools: { master: { spec: M.Y, status: M.Y, counts: [2, 0, 0, 2] } },
    configs: [M.Y],
    problems: ['DiskDiffers'],
    repairs: ['machineconfig-guard restore --from node/control1', force('control1')],
  },
  'R38 just after the annotation': {
    source: 'own: a daemon whose first boot changed something recovers by itself (real daemon of 4.20)',
    nodes: {
      control1: {
        ...MASTER,
        ...both(M.Y),
        ...degraded(REASONS.diskDiffers(M.Y)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 1 },
      },
    },
    pools: { master: { spec: M.Y, status: M.Y, counts: [1, 0, 0, 1] } },
    configs: [M.Y],
    problems: ['Recovering?'],
  },
  'R38 after the printed repairs': {
    source: 'own: the annotations name X again, and the daemon has not tried again',
    nodes: {
      control1: {
        ...MASTER,
        ...both(M.X),
        ...degraded(REASONS.diskDiffers(M.Y)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 1 },
      },
    },
    pools: { master: { spec: M.Y, status: M.Y, counts: [1, 0, 0, 1], ageMinutes: 180 } },
    configs: [M.X, M.Y],
    problems: ['Recovering?'],
  },
  'annotations that do not matter': {
    source: 'real daemon of 4.20: it compares with the currentconfig of the disk, whatever the annotations say',
    nodes: {
      control1: {
        ...MASTER,
        ...both(M.X),
        ...degraded(REASONS.diskDiffers(M.Y)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 10 },
      },
    },
    pools: { master: { spec: M.Y, status: M.Y, counts: [1, 0, 0, 1], ageMinutes: 180 } },
    configs: [M.X, M.Y],
    problems: ['DiskDiffers'],
    repairs: [
      `put file "/etc/a" back as ${M.Y} has it. The node is then Done within 2 minutes`,
      '# machineconfig-guard restore --from node/control1',
      force('control1'),
    ],
  },
  'R38 in mid-life': {
    source: 'real daemon of 4.20: the disk has the whole currentconfig of X, so it updates to Y by itself',
    nodes: {
      'worker-0': {
        ...both(W.Y),
        ...degraded(REASONS.missing(W.X)),
        currentWrite: { manager: 'kubectl-annotate', minutesAgo: 1 },
      },
    },
    pools: { worker: { spec: W.Y, status: W.Y, counts: [1, 0, 0, 1] } },
    configs: [W.Y],
    problems: ['Recovering?'],
  },
  S5: {
    source: 'machine-config-operator#1443, #4475: a bad source was deleted, and the node stays with its config',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded('failed to create directory "/home/core/test": mkdir /home/core/test: not a directory'),
        cordon: { manager: 'machine-config-controller', minutesAgo: 90 },
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [2, 1, 1, 1] } },
    problems: ['DesiredOutdated'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'S5 after the uncordon': {
    source: 'own: the real controller of 4.20 takes the node back within 20 s',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, ...degraded('failed to create directory "/home/core/test"') },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [2, 1, 1, 1] } },
    problems: ['DesiredOutdated?'],
  },
  S21: {
    source: 'a public script for a single master: desiredConfig of a master names the config of pool worker',
    nodes: { 'master-0': { roles: ['master', 'worker'], current: M.A, desired: W.A, state: 'Working' } },
    pools: {
      master: { spec: M.A, status: M.A, counts: [1, 0, 0, 0] },
      worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] },
    },
    problems: ['DesiredOutdated'],
    repairs: [`${ANNOTATE} master-0 ${annotations(M.A, 'desiredConfig')}`],
  },
  R23: {
    source: 'a public runbook of 2025: the pool was reverted in the middle of a roll-out',
    nodes: { 'worker-2': { current: W.A, desired: W.B, state: 'Working' } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 0] } },
    problems: [],
  },
  'R23 for hours': {
    source: 'as R23',
    nodes: {
      'worker-2': {
        current: W.A,
        desired: W.B,
        state: 'Working',
        desiredWrite: { manager: 'machine-config-controller', minutesAgo: 300 },
      },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 0] } },
    problems: ['DesiredOutdated'],
    repairs: [`${ANNOTATE} worker-2 ${annotations(W.A, 'desiredConfig')}`],
  },
  'a cordoned node in a roll-out': {
    source: 'own: the operator counts the node as unavailable (real controller of 4.20)',
    nodes: {
      'worker-0': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 600 } },
      'worker-1': both(W.A),
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 0] } },
    problems: ['NodeCordoned'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'a cordoned node without a roll-out': {
    source: 'own',
    nodes: { 'worker-0': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 600 } } },
    pools: { worker: { spec: W.A, status: W.A } },
    problems: [],
  },
  'a cordoned node that the daemon updates': {
    source: 'own: the operator uncordons a node after its update',
    nodes: {
      'worker-0': { ...both(W.A), state: 'Working', cordon: { manager: 'kubectl-cordon', minutesAgo: 600 } },
      'worker-1': both(W.A),
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 0] } },
    problems: [],
  },
  'a cordoned node whose update has failed': {
    source: 'own: its daemon tries again, and asks for no uncordon that is the last one already (completeUpdate)',
    nodes: {
      'worker-0': {
        ...both(W.A),
        state: 'Degraded',
        reason: 'a reason',
        // A browser, with the web console.
        cordon: { manager: 'Mozilla', minutesAgo: 600 },
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 1] } },
    problems: ['NodeDegraded?', 'NodeCordoned'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'a node that reboots': {
    source: 'own',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', notReady: { minutesAgo: 5 } } },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 0] } },
    problems: [],
  },
  'a node that is down in a roll-out, and does not update itself': {
    source: 'own: the operator counts it as unavailable at once, but it can just reboot',
    nodes: { 'worker-0': { ...both(W.A), notReady: { minutesAgo: 1 } }, 'worker-1': both(W.A) },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 0] } },
    problems: ['NodeNotReady?'],
    repairs: ['start the machine or the kubelet of each lost node'],
  },
  'a node that has not come back': {
    source: 'own',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', notReady: { minutesAgo: 30 } } },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 0] } },
    problems: ['NodeNotReady?'],
    repairs: ['start the machine or the kubelet of each lost node', '# oc delete node worker-0'],
  },
  'a lost node': {
    source: 'own',
    nodes: { 'worker-0': { ...both(W.A), notReady: { minutesAgo: 600 } } },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 0] } },
    problems: ['NodeNotReady'],
    repairs: ['start the machine or the kubelet of each lost node', '# oc delete node worker-0'],
  },
  'a node that waits for a certificate': {
    source: 'own: its client certificate has expired while the node was off',
    nodes: { 'worker-0': { ...both(W.A), notReady: { minutesAgo: 600 } } },
    pools: { worker: { spec: W.A, status: W.A } },
    requests: { 'csr-2b7xk': 'worker-0' },
    problems: ['CertificatePending'],
    repairs: ['oc adm certificate approve csr-2b7xk'],
  },
  Unreconcilable: {
    source: 'own, with the text of 4.20',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, state: 'Unreconcilable', reason: REASONS.unreconcilable(W.A, W.B) },
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['NodeDegraded'],
    repairs: [UNDO],
  },
  'another failure': {
    source: 'own',
    nodes: { 'worker-0': { current: W.A, desired: W.B, ...degraded('failed to update OS: error pulling image') } },
    pools: {
      worker: {
        spec: W.B,
        status: W.A,
        counts: [1, 0, 0, 1],
        conditions: [
          { type: 'NodeDegraded', minutesAgo: 10 },
          { type: 'Degraded', minutesAgo: 10 },
        ],
      },
    },
    problems: ['NodeDegraded?', 'PoolDegraded?'],
  },
  'another failure for long': {
    source: 'own',
    nodes: { 'worker-0': { current: W.A, desired: W.B, ...degraded('failed to update OS: error pulling image') } },
    pools: {
      worker: {
        spec: W.B,
        status: W.A,
        counts: [1, 0, 0, 1],
        conditions: [{ type: 'NodeDegraded', minutesAgo: 600 }],
      },
    },
    problems: ['NodeDegraded', 'PoolDegraded'],
    repairs: ['oc debug node/worker-0 -- chroot /host rpm-ostree status', `# only if the change can go: ${UNDO}`],
  },
  'a failure without a reason': {
    source: 'own',
    nodes: { 'worker-0': { ...both(W.A), ...degraded('') } },
    pools: {
      worker: {
        spec: W.A,
        status: W.A,
        counts: [1, 0, 0, 1],
        conditions: [{ type: 'NodeDegraded', minutesAgo: 600 }],
      },
    },
    problems: ['NodeDegraded', 'PoolDegraded'],
    repairs: [`${OPERATOR_PODS} k8s-app=machine-config-daemon --field-selector=spec.nodeName=worker-0`],
  },
  'node disruption policies that are not ready': {
    source: 'machine-config-operator#4267: the operator writes their status',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded('NodeDisruptionPolicyStatus was not ready: NodeDisruptionPolicyStatus is not up to date'),
      },
    },
    pools: {
      worker: {
        spec: W.B,
        status: W.A,
        counts: [1, 0, 0, 1],
        conditions: [{ type: 'NodeDegraded', minutesAgo: 600 }],
      },
    },
    problems: ['NodeDegraded', 'PoolDegraded'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-config-operator --tail=20'],
  },
  'a changed file in image mode': {
    source: 'own: the reason names the image, and the file is that of the config (validateOnDiskStateImpl)',
    nodes: { 'worker-0': { ...both(W.A), ...degraded(REASONS.diskDiffers('quay.io/os@sha256:7')) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['DiskDiffers'],
    repairs: [
      `put file "/etc/a" back as ${W.A} has it. The node is then Done within 2 minutes`,
      '# machineconfig-guard restore --from node/worker-0',
      force('worker-0'),
    ],
  },

  // The pool does not move, and every node is Done.

  R9: {
    source: 'openshift/installer#2936: the first roll-out, from a config that the bootstrap host and the cluster have',
    nodes: {
      control0: { ...MASTER, ...both(M.X) },
      control1: { ...MASTER, current: M.X, desired: M.Y, state: 'Working' },
    },
    pools: { master: { spec: M.Y, counts: [2, 0, 0, 0] } },
    configs: [M.X, M.Y],
    problems: ['StatusEmpty?'],
  },
  R17: {
    source: 'openshift/release#31224: a roll-out',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working' }, 'worker-1': both(W.A) },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 1, 0] } },
    problems: [],
  },
  R24: {
    source: 'openshift/runbooks#44: a person has paused the pool',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 1, 0], paused: true } },
    problems: [],
    repairs: ['# oc patch machineconfigpool worker --type=merge -p {"spec":{"paused":false}}'],
  },
  S6: {
    source: 'machine-config-operator#5878 (OCPBUGS-84150): the MachineOSConfig names a build that is gone',
    nodes: { 'worker-0': both(W.X), 'worker-1': both(W.X) },
    pools: {
      worker: {
        spec: W.Y,
        status: W.X,
        counts: [2, 0, 0, 0],
        specWrittenMinutesAgo: 2_880,
        conditions: [{ type: 'Updating', minutesAgo: 2_880 }],
      },
    },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-gone' } },
    builds: {},
    configs: [W.X, W.Y],
    problems: ['BuildGone'],
    repairs: [`oc annotate machineosconfig worker ${MCO}/current-machine-os-build-`],
  },
  'S6 with a build of another config': {
    source: 'machine-config-operator#5878: the annotation names the build of an old config',
    nodes: { 'worker-0': both(W.X) },
    pools: {
      worker: {
        spec: W.Y,
        status: W.X,
        counts: [1, 0, 0, 0],
        specWrittenMinutesAgo: 11,
        conditions: [{ type: 'Updating', minutesAgo: 11 }],
      },
    },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-old' } },
    builds: { 'worker-old': { config: W.X, osConfig: 'worker', conditions: [{ type: 'Succeeded' }] } },
    configs: [W.X, W.Y],
    problems: ['BuildGone'],
    repairs: [`oc annotate machineosconfig worker ${MCO}/current-machine-os-build-`],
  },
  'S6 in a Degraded pool': {
    source: 'the real operator of 4.20: it starts the build once the pool is not Degraded',
    nodes: { 'worker-0': both(W.X) },
    pools: {
      worker: {
        spec: W.Y,
        status: W.X,
        counts: [1, 0, 0, 0],
        specWrittenMinutesAgo: 11,
        conditions: [{ type: 'RenderDegraded', message: 'no' }, { type: 'Degraded' }],
      },
    },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-old' } },
    builds: { 'worker-old': { config: W.X, osConfig: 'worker', conditions: [{ type: 'Succeeded' }] } },
    configs: [W.X, W.Y],
    problems: ['PoolDegraded'],
    repairs: ['correct the source MachineConfig of pool worker that the message is about'],
  },
  'S6 just after the config was rendered': {
    source: 'own: the operator starts a build within seconds',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 0, 0], specWrittenMinutesAgo: 1 } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-old' } },
    builds: { 'worker-old': { config: W.X, osConfig: 'worker', conditions: [{ type: 'Succeeded' }] } },
    configs: [W.X, W.Y],
    problems: [],
  },
  S7: {
    source: 'openshift-docs#98829, machine-config-operator#5279, #6282: the build failed',
    nodes: { 'worker-0': both(W.X) },
    pools: {
      worker: {
        spec: W.Y,
        status: W.X,
        counts: [2, 0, 2, 0],
        conditions: [
          {
            type: 'ImageBuildDegraded',
            reason: 'BuildFailed',
            message: 'Failed to build OS image for pool worker (MachineOSBuild: worker-2d03): Failed: Build Failed',
          },
          { type: 'Degraded', message: 'Custom OS image build failed' },
        ],
      },
    },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-2d03' } },
    builds: {
      'worker-2d03': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Failed', message: 'Build Failed' }] },
    },
    configs: [W.X, W.Y],
    problems: ['BuildFailed'],
    repairs: [`oc annotate machineosconfig worker --overwrite ${MCO}/rebuild=`],
  },
  'S7 after the annotation': {
    source: 'the real operator of 4.20: it replaces the build within seconds',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 1, 0] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-2d03', rebuiltMinutesAgo: 1 } },
    builds: { 'worker-2d03': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Failed' }] } },
    configs: [W.X, W.Y],
    problems: ['BuildFailed?'],
  },
  'S7 with an annotation that has had no effect': {
    source:
      'own: the operator sees only its creation, and starts no build for a Degraded pool (rebuildMachineOSConfig)',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 1, 0] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-2d03', rebuiltMinutesAgo: 30 } },
    builds: {
      'worker-2d03': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Failed', message: 'Build Failed' }] },
    },
    configs: [W.X, W.Y],
    problems: ['BuildFailed'],
    repairs: ['oc delete machineosbuild worker-2d03'],
  },
  'S7 of a build that no annotation names': {
    source: 'own: then the annotation for another build has no effect (rebuildMachineOSConfig)',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 1, 0] } },
    osConfigs: { worker: { pool: 'worker' } },
    builds: {
      'worker-2d03': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Failed', message: 'Build Failed' }] },
    },
    configs: [W.X, W.Y],
    problems: ['BuildFailed'],
    repairs: ['oc delete machineosbuild worker-2d03'],
  },
  'S7 of the first image': {
    source: 'the real operator of 4.20: nothing but the image of the pool is new, and no condition says so',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.X, status: W.X, counts: [1, 0, 0, 0], conditions: [{ type: 'Updating' }] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-2d03' } },
    builds: {
      'worker-2d03': { config: W.X, osConfig: 'worker', conditions: [{ type: 'Failed', message: 'Build Failed' }] },
    },
    configs: [W.X],
    problems: ['BuildFailed'],
    repairs: [`oc annotate machineosconfig worker --overwrite ${MCO}/rebuild=`],
  },
  'S7 without the right to list builds': {
    source: 'as S7: the message of the pool says it',
    nodes: { 'worker-0': both(W.X) },
    pools: {
      worker: {
        spec: W.Y,
        status: W.X,
        counts: [2, 0, 2, 0],
        conditions: [
          { type: 'ImageBuildDegraded', message: 'Failed to build OS image for pool worker' },
          { type: 'Degraded' },
        ],
      },
    },
    configs: [W.X, W.Y],
    problems: ['PoolDegraded?'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-os-builder --tail=20'],
  },
  'another condition of the pool': {
    source: 'own: a condition without a message that no release has yet',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.A, status: W.A, conditions: [{ type: 'SomethingDegraded' }, { type: 'Degraded' }] } },
    problems: ['PoolDegraded?'],
  },
  'a roll-out that does not move': {
    source: 'own: nothing explains it',
    nodes: { 'worker-0': both(W.A), 'worker-1': both(W.A) },
    pools: {
      worker: {
        spec: W.B,
        status: W.A,
        counts: [2, 0, 0, 0],
        specWrittenMinutesAgo: 300,
        statusWrittenMinutesAgo: 200,
      },
    },
    problems: ['RolloutStalled'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20'],
  },
  'a roll-out without the operator': {
    source: 'own: the Deployment of the controller has been scaled down',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 0], specWrittenMinutesAgo: 300 } },
    obstacles: {
      stoppedOperators: [OPERATOR_OFF],
    },
    problems: ['OperatorStopped', 'RolloutStalled'],
    repairs: [
      'oc scale deployment machine-config-controller -n openshift-machine-config-operator --replicas=1',
      'oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20',
    ],
  },
  'a paused first roll-out': {
    source: 'own',
    nodes: { 'worker-0': both(W.A), control0: { ...MASTER, ...both(M.X) } },
    pools: {
      worker: { spec: W.A, status: W.A },
      master: { spec: M.Y, counts: [1, 0, 1, 0], paused: true },
    },
    configs: [M.X, M.Y, W.A],
    problems: ['StatusEmpty'],
    repairs: ['oc patch machineconfigpool master --type=merge -p {"spec":{"paused":false}}', setStatus('master', M.X)],
  },
  'every machine Degraded': {
    source: 'own: the daemon still tries again',
    nodes: { control0: { ...MASTER, ...both(M.Y), ...degraded('failed to update OS: error pulling image') } },
    pools: { master: { spec: M.Y, counts: [1, 0, 0, 1] } },
    configs: [M.Y],
    problems: ['NodeDegraded?', 'StatusEmpty?'],
  },
  'every machine Degraded for hours': {
    source: 'own: new machines get no config meanwhile',
    nodes: { control0: { ...MASTER, ...both(M.Y), ...degraded('failed to update OS: error pulling image') } },
    pools: {
      master: { spec: M.Y, counts: [1, 0, 0, 1], conditions: [{ type: 'NodeDegraded', minutesAgo: 200 }] },
    },
    configs: [M.Y],
    problems: ['NodeDegraded', 'StatusEmpty', 'PoolDegraded'],
    repairs: ['oc debug node/control0 -- chroot /host rpm-ostree status', setStatus('master', M.Y)],
  },
  'a first roll-out that does not move': {
    source: 'own',
    nodes: { control0: { ...MASTER, ...both(M.X) } },
    pools: {
      master: {
        spec: M.Y,
        counts: [1, 0, 1, 0],
        conditions: [{ type: 'Updated', status: 'False', minutesAgo: 1_200_000 }],
      },
    },
    configs: [M.X, M.Y],
    problems: ['StatusEmpty'],
    repairs: [setStatus('master', M.X)],
  },
  'the operator cannot render': {
    source: 'own',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: { spec: W.A, status: W.A },
      infra: {
        spec: I.A,
        status: I.A,
        counts: [0, 0, 0, 0],
        conditions: [{ type: 'RenderDegraded', message: 'parsing Ignition config failed', minutesAgo: 90 }],
      },
    },
    problems: ['PoolDegraded'],
    repairs: ['correct the source MachineConfig of pool infra that the message is about'],
  },

  // The same questions again, from the source of the operator of 4.20 (machine-config-operator, pkg/controller).

  'an old build failed, and the build of today runs': {
    source: 'own: a change of the MachineOSConfig starts another build of the same config',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 0, 0], specWrittenMinutesAgo: 20 } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-new' } },
    builds: {
      'worker-a-old': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Failed' }], ageMinutes: 20 },
      'worker-new': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Building' }], ageMinutes: 5 },
    },
    configs: [W.X, W.Y],
    problems: [],
  },
  'an old build failed, and the newest one runs': {
    source: 'own: as before, and the MachineOSConfig does not name its build yet',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 0, 0], specWrittenMinutesAgo: 20 } },
    osConfigs: { worker: { pool: 'worker' } },
    builds: {
      'worker-a-old': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Failed' }], ageMinutes: 20 },
      'worker-new': { config: W.Y, osConfig: 'worker', conditions: [{ type: 'Building' }], ageMinutes: 5 },
    },
    configs: [W.X, W.Y],
    problems: [],
  },
  'a failed build of another image for the config that the nodes run': {
    source: 'own: a change of the containerFile starts it, and the operator then finds the older build of the config',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.A, status: W.A } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-new' } },
    builds: {
      'worker-a-old': { config: W.A, osConfig: 'worker', conditions: [{ type: 'Succeeded' }], ageMinutes: 900 },
      'worker-new': { config: W.A, osConfig: 'worker', conditions: [{ type: 'Failed' }], ageMinutes: 90 },
    },
    problems: ['BuildFailed'],
    repairs: [`oc annotate machineosconfig worker --overwrite ${MCO}/rebuild=`],
  },
  'an old build failed, and another one has succeeded': {
    source: 'own: as before, and the person has corrected the containerFile',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.A, status: W.A } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-b' } },
    builds: {
      'worker-a': { config: W.A, osConfig: 'worker', conditions: [{ type: 'Failed' }], ageMinutes: 90 },
      'worker-b': { config: W.A, osConfig: 'worker', conditions: [{ type: 'Succeeded' }], ageMinutes: 900 },
    },
    problems: [],
  },
  'a build that does not end': {
    source: 'own: its pod cannot pull an image',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-b' } },
    builds: { 'worker-b': { config: W.B, osConfig: 'worker', conditions: [{ type: 'Building' }], ageMinutes: 190 } },
    problems: ['RolloutStalled'],
    repairs: [`${OPERATOR_PODS} ${MCO}/machine-os-build=worker-b`],
  },
  'a build that does not start': {
    source: 'own: the MachineOSConfig is new, and machine-os-builder hangs',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    osConfigs: { worker: { pool: 'worker' } },
    builds: {},
    problems: ['RolloutStalled'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-os-builder --tail=20'],
  },
  'a built image that the controller does not roll out': {
    source: 'own',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-b', image: 'os@sha256:b' } },
    builds: {
      'worker-b': {
        config: W.B,
        osConfig: 'worker',
        conditions: [{ type: 'Succeeded' }],
        ageMinutes: 190,
        image: 'os@sha256:b',
      },
    },
    problems: ['RolloutStalled'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20'],
  },
  'a built image that the MachineOSConfig does not name': {
    source: 'own: the builder ended just after the build, and notes an image only then (updateMachineOSBuild)',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-b', image: 'os@sha256:a' } },
    builds: {
      'worker-b': {
        config: W.B,
        osConfig: 'worker',
        conditions: [{ type: 'Succeeded' }],
        ageMinutes: 190,
        image: 'os@sha256:b',
      },
    },
    problems: ['RolloutStalled'],
    repairs: [`oc annotate machineosconfig worker ${MCO}/current-machine-os-build-`],
  },
  'a pool leaves image mode beside a cordoned node': {
    source: 'own: the MachineOSConfig is gone, and the nodes still have its image (CheckNodeCandidacyForUpdate)',
    nodes: {
      'worker-0': {
        ...both(W.A),
        cordon: { manager: 'oc', minutesAgo: 600 },
      },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 0], conditions: [{ type: 'Updating' }] } },
    osConfigs: {},
    problems: ['NodeCordoned'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'a program has cordoned a node in a roll-out': {
    source: 'own: a node maintenance, the Machine API or the cluster autoscaler needs the cordon until it has finished',
    nodes: {
      'worker-0': { ...both(W.A), cordon: { manager: 'machineset-controller', minutesAgo: 30 } },
      'worker-1': both(W.A),
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 0] } },
    problems: ['NodeCordoned?'],
  },
  'a program has cordoned a node in a roll-out, and does not end': {
    source: 'own: as before',
    nodes: {
      'worker-0': { ...both(W.A), cordon: { manager: 'machineset-controller', minutesAgo: 90 } },
      'worker-1': both(W.A),
    },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 0] } },
    problems: ['NodeCordoned'],
    repairs: ['# oc adm uncordon worker-0'],
  },
  'a node without room on its disk in a roll-out': {
    source: 'own: the operator counts it as unavailable (CheckNodeReady)',
    nodes: { 'worker-0': { ...both(W.A), conditions: [DISK_PRESSURE] }, 'worker-1': both(W.A) },
    pools: { worker: { spec: W.B, status: W.A, counts: [2, 0, 0, 0] } },
    problems: ['NodeUnavailable'],
    repairs: ['free space on the disk of the node. Its update then goes on'],
  },
  'a daemon that does not start its update': {
    source: 'own: the pod of the machine-config-daemon does not run, and nothing is Degraded',
    nodes: { 'worker-0': { current: W.A, desired: W.B, movedMinutesAgo: 200 }, 'worker-1': both(W.A) },
    pools: { worker: { ...OLD_ROLLOUT, counts: [2, 0, 1, 0] } },
    problems: ['UpdateStalled'],
    repairs: [`${OPERATOR_PODS} k8s-app=machine-config-daemon --field-selector=spec.nodeName=worker-0`],
  },
  'a daemon that does not end its update': {
    source: 'own: the daemon hangs after the reboot',
    nodes: { 'worker-0': { ...both(W.B), state: 'Working', movedMinutesAgo: 200 } },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    problems: ['UpdateStalled'],
    repairs: [`${OPERATOR_PODS} k8s-app=machine-config-daemon --field-selector=spec.nodeName=worker-0`],
  },
  'a daemon that updates slowly': {
    source: 'own: it has just reported',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', movedMinutesAgo: 50 } },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    problems: [],
  },
  'an evicted pod that does not end': {
    source: 'own: its volume cannot be detached',
    nodes: { 'worker-1': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 20 } },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 0] } },
    obstacles: drainObstacles('worker-1', { endingPods: ['db/db-0'] }),
    problems: ['DrainBlocked?'],
    repairs: ['oc get pods -A --field-selector=spec.nodeName=worker-1'],
  },
  'S5 with a changed file': {
    source: 'own: the daemon compares the disk before the update back, too',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.diskDiffers(W.A)),
        cordon: { manager: 'machine-config-controller', minutesAgo: 90 },
      },
    },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    problems: ['DesiredOutdated', 'DiskDiffers'],
    repairs: [
      'oc adm uncordon worker-0',
      `put file "/etc/a" back as ${W.A} has it. The node is then Done within 2 minutes`,
      '# machineconfig-guard restore --from node/worker-0',
      force('worker-0'),
    ],
  },
  'a pool in the middle of an upgrade of the operator': {
    source: 'own, with the text of render_controller.go: the new controller has not written all sources',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: {
        spec: W.A,
        status: W.A,
        conditions: [
          {
            type: 'RenderDegraded',
            message: 'Failed to render: Ignoring MC 01-worker-kubelet generated by older version ab (my version: cd)',
          },
          { type: 'Degraded' },
        ],
      },
    },
    problems: ['PoolDegraded?'],
  },
  'a node without a role that names a config of masters': {
    source: 'own: a hostile node names any config, and the label of a master starts a control plane on it',
    nodes: { 'worker-0': { roles: [], ...both(M.A) } },
    pools: { master: { spec: M.A, status: M.A }, worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] } },
    problems: ['NotInPool'],
    repairs: [`# oc label node worker-0 --overwrite ${label('master')}=`],
  },
  'a Windows node with annotations': {
    source: 'own: the operator updates no Windows node',
    nodes: { 'win-0': { labels: { 'kubernetes.io/os': 'windows' }, ...both(W.A) } },
    pools: { worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] } },
    problems: [],
  },
  'a lost node that waits for a certificate, and whose config is gone': {
    source: 'own: a cluster that was off for months',
    nodes: { 'worker-0': { ...missing(W.X), notReady: { minutesAgo: 600 } } },
    pools: { worker: { spec: W.A, status: W.A, counts: [1, 0, 0, 1] } },
    requests: { 'csr-2b7xk': 'worker-0' },
    problems: ['ConfigMissing', 'CertificatePending'],
    repairs: [
      'oc adm certificate approve csr-2b7xk',
      '# if the machine of the node comes back: start its kubelet, and restore the config from a copy',
      '# oc delete node worker-0',
    ],
  },
  'a control plane of an old cluster that has lost a machine': {
    source: 'own: no install runs that could add it',
    nodes: {
      control0: { ...MASTER, ...both(M.Y), ageMinutes: 50_000 },
      control1: { ...MASTER, ...both(M.Y), ageMinutes: 50_000 },
    },
    pools: { master: { spec: M.Y, status: M.Y, counts: [2, 2, 2, 0], ageMinutes: 50_000 } },
    configs: [M.Y],
    controlPlane: { masters: 3, arbiters: 0 },
    problems: ['TooFewNodes'],
  },
  'nothing moves, and nothing wants to, without the operator': {
    source: 'own: the next change would wait for ever',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.A, status: W.A } },
    obstacles: { stoppedOperators: [OPERATOR_OFF] },
    problems: ['OperatorStopped'],
    repairs: ['oc scale deployment machine-config-controller -n openshift-machine-config-operator --replicas=1'],
  },
  'an operator that cannot install its release, although every pool is at rest': {
    source: 'machine-config-operator#3246: the ClusterOperator says why (syncDegradedStatus)',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.A, status: W.A } },
    obstacles: { operatorFailure: trueCondition('Degraded', 'RequiredPoolsFailed', 'controller version mismatch') },
    problems: ['OperatorDegraded'],
    repairs: ['oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20'],
  },
  'an operator that waits for a roll-out': {
    source: 'own: the sync of the operator gives up after some minutes, and begins anew',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.B, status: W.A, specWrittenMinutesAgo: 30 } },
    obstacles: { operatorFailure: trueCondition('Degraded', 'RequiredPoolsFailed', 'pool worker is not ready') },
    problems: [],
  },
  'an operator that fails for its own reason, beside a cordoned node': {
    source: 'own: neither hides the other',
    nodes: { 'worker-0': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 300 } } },
    pools: { worker: { spec: W.B, status: W.A, counts: [1, 0, 0, 0] } },
    obstacles: { operatorFailure: trueCondition('Degraded', 'RenderConfigFailed', 'could not get ConfigMap') },
    problems: ['OperatorDegraded', 'NodeCordoned'],
    repairs: [
      'oc adm uncordon worker-0',
      'oc logs -n openshift-machine-config-operator deployment/machine-config-operator --tail=20',
    ],
  },
  'a roll-out for which a cordoned node leaves room': {
    source: 'own: the operator updates other nodes up to maxUnavailable (getAllCandidateMachines)',
    nodes: CORDONED_OF_FOUR,
    pools: { worker: { ...OLD_ROLLOUT, counts: [4, 1, 0, 0], maxUnavailable: '50%' } },
    problems: ['NodeCordoned', 'RolloutStalled'],
    repairs: [
      'oc adm uncordon worker-0',
      'oc logs -n openshift-machine-config-operator deployment/machine-config-controller --tail=20',
    ],
  },
  'a roll-out for which a cordoned node leaves no room': {
    source: 'own: the operator rounds down',
    nodes: CORDONED_OF_FOUR,
    pools: { worker: { ...OLD_ROLLOUT, counts: [4, 1, 0, 0], maxUnavailable: '40%' } },
    problems: ['NodeCordoned'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'a roll-out that only waits for its last nodes': {
    source: 'own: the operator skips a cordoned node',
    nodes: {
      'worker-0': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 300 } },
      'worker-1': both(W.B),
    },
    pools: { worker: { ...OLD_ROLLOUT, counts: [2, 1, 1, 0], maxUnavailable: 5 } },
    problems: ['NodeCordoned'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'an image that is not built, beside a cordoned node': {
    source: 'own: the operator builds the image whatever the nodes are (reconciler.go)',
    nodes: { 'worker-0': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 300 } } },
    pools: { worker: { ...OLD_ROLLOUT, counts: [1, 0, 0, 0] } },
    osConfigs: { layered: { pool: 'worker' } },
    problems: ['NodeCordoned', 'RolloutStalled'],
    repairs: [
      'oc adm uncordon worker-0',
      'oc logs -n openshift-machine-config-operator deployment/machine-os-builder --tail=20',
    ],
  },
  'pinned images that a node cannot pull': {
    source: 'machine-config-operator#6046',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: {
        spec: W.A,
        status: W.A,
        conditions: [
          {
            type: 'PinnedImageSetsDegraded',
            message: "Node worker-0 references an invalid PinnedImageSet. See the node's MachineConfigNode resource",
            minutesAgo: 300,
          },
        ],
      },
    },
    problems: ['PoolDegraded'],
    repairs: ['oc describe machineconfignodes'],
  },
  'two custom pools, and the config of neither': {
    source: 'own: the node runs the config of the workers',
    nodes: { 'worker-0': { roles: ['worker', 'infra', 'cnf'], ...both(W.A) } },
    pools: { worker: { spec: W.A, status: W.A }, cnf: { spec: C.A, status: C.A }, infra: { spec: I.A, status: I.A } },
    problems: ['PoolConflict'],
    repairs: [`oc label node worker-0 --overwrite ${label('cnf')}- ${label('infra')}-`],
  },
  ...OPERATOR_STATES,
};

/** The contents of all configs of the states. */
export function listContents(): readonly RenderedContent[] {
  return ['master', 'worker', 'worker-rt', 'infra', 'cnf', 'arbiter'].flatMap(listConfigs);
}

/** The state with this name. */
export function getState(name: string): State {
  const state = STATES[name];
  if (state === undefined) throw new Error(`states.ts has no state ${name}`);
  return state;
}

const POOLS = [M, W, R, I, C, ARBITER];

/** The objects of a state, as the API server has them. */
export function buildState({ nodes, pools, builds = {}, osConfigs = {}, ...state }: State, now = NOW) {
  return {
    configs: new Set(state.configs ?? POOLS.flatMap(({ A, B }) => [A, B])),
    nodes: Object.entries(nodes).map(([name, options]) => buildNode(name, options, now)),
    pools: Object.entries(pools).map(([name, options]) => buildPool(name, options, now)),
    builds: Object.entries(builds).map(([name, options]) => buildBuild(name, options, now)),
    osConfigs: Object.entries(osConfigs).map(([name, options]) => buildOsConfig(name, options, now)),
  };
}

/** A state as `check` reads it. */
export function readState(state: State): ClusterSnapshot {
  const { nodes, pools, builds, osConfigs, configs } = buildState(state);
  const createdAt = new Date(NOW.getTime() - 300_000);
  return {
    nodes: nodes.map(parseInspectedNode),
    pools: pools.map(parseInspectedPool),
    builds: builds.map(parseInspectedBuild),
    osConfigs: osConfigs.map(parseInspectedOsConfig),
    configs,
    terminatingConfigs: new Set(),
    pendingRequests: Object.entries(state.requests ?? {}).map(([name, node]) => {
      const signer = state.signers?.[name] ?? 'kubernetes.io/kube-apiserver-client-kubelet';
      return { name, node, signer, createdAt: createdAt.toISOString() };
    }),
    controlPlaneSize: state.controlPlane,
    ...state.obstacles,
  };
}
