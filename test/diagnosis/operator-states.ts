import { REASONS } from '../support/daemon-reasons.ts';
import { REQUIRED } from '../support/operator-objects.ts';
import { nameConfigs } from '../support/rendered-configs.ts';
import type { State } from './states.ts';

/*
 * States in which a node or a pool stays as it is. They follow from the source of the operator of 4.20
 * (machine-config-operator, pkg/controller, pkg/daemon and pkg/operator), which `source` cites.
 */

const M = nameConfigs('master');
const W = nameConfigs('worker');
const R = nameConfigs('worker-rt');
const I = nameConfigs('infra');
const C = nameConfigs('cnf');
const ARBITER = nameConfigs('arbiter');
const MCO = 'machineconfiguration.openshift.io';
const MASTER = { roles: ['master'] } as const;
const AA = { spec: W.A, status: W.A } as const;
const AB = { spec: W.B, status: W.A } as const;
const MA = { spec: M.A, status: M.A } as const;
/** The roll-out began long ago. */
const OLD = { specWrittenMinutesAgo: 300, statusWrittenMinutesAgo: 200 } as const;
const SERVING = 'kubernetes.io/kubelet-serving';
const BUDGET: NonNullable<State['obstacles']> = {
  drainObstacles: new Map([
    ['worker-0', { budgets: [{ namespace: 'db', name: 'db-pdb', pods: ['db-0'] }], endingPods: [] }],
  ]),
};
const TEMPORARY_BUDGET: NonNullable<State['obstacles']> = {
  drainObstacles: new Map([
    ['worker-0', { budgets: [{ namespace: 'db', name: 'db-pdb', pods: ['db-0'], isTemporary: true }], endingPods: [] }],
  ]),
};
const OPERATOR = 'openshift-machine-config-operator';
const READ_LOG = `oc logs -n ${OPERATOR} deployment/machine-config-controller --tail=20`;
const OPERATOR_PODS = `oc get pods -n ${OPERATOR} -l`;
const FIND_DAEMON = `${OPERATOR_PODS} k8s-app=machine-config-daemon --field-selector=spec.nodeName=worker-0`;

const RECORD = '/etc/machine-config-daemon/currentconfig';

const REPAIR = 'repair what the message is about. The daemon tries again';
const UNDO =
  '# only if the change can go: undo the change in the MachineConfig that made it, and then uncordon the node if it ' +
  'is cordoned. The operator takes it back';
const NO_HOST_NAME = 'a machine has no host name. Give it one, and it asks again';
const FREE_SPACE = 'free space on the disk of the node. Its update then goes on';
const DISK_PRESSURE = { type: 'DiskPressure', message: 'kubelet has disk pressure', minutesAgo: 120 };
const FAILED_FOR_HOURS = { type: 'NodeDegraded', message: 'Node worker-0 is reporting: "…"', minutesAgo: 300 };
const label = (role: string) => `node-role.kubernetes.io/${role}`;
const both = (config: string) => ({ current: config, desired: config });
const degraded = (reason: string) => ({ state: 'Degraded', reason });
const byOperator = (minutesAgo: number) => ({ manager: 'machine-config-controller', minutesAgo });

export const OPERATOR_STATES: Readonly<Record<string, State>> = {
  'a node without a network that runs a reverted config': {
    source: 'a public runbook: the operator skips a node that is not ready (getAllCandidateMachines)',
    nodes: {
      'worker-0': {
        ...both(W.B),
        notReady: {
          minutesAgo: 120,
          status: 'False',
          message:
            'network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no CNI configuration file',
        },
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AA, counts: [2, 1, 1, 0] } },
    problems: ['NodeNotReady'],
    repairs: [
      'repair what the kubelet of each node reports',
      `# oc annotate node worker-0 --overwrite ${MCO}/desiredConfig=${W.A}`,
    ],
  },
  'a pool that is being deleted, with its node': {
    source: 'own: the operator only counts in such a pool (syncMachineConfigPool)',
    nodes: { 'worker-0': { roles: ['worker', 'worker-rt'], ...both(R.A) } },
    pools: {
      worker: { ...AA, counts: [0, 0, 0, 0] },
      'worker-rt': { spec: R.B, status: R.A, counts: [1, 0, 0, 0], terminating: true, ...OLD },
    },
    problems: ['PoolDeleted'],
    repairs: ['oc label node worker-0 --overwrite node-role.kubernetes.io/worker-rt-'],
  },
  'a cordoned node without a roll-out, for which the pool is Updating': {
    source: 'machine-config-operator#367: the operator counts it as unavailable, so the pool is never Updated',
    nodes: {
      'worker-0': both(W.A),
      'worker-1': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 900 } },
    },
    pools: { worker: { ...AA, counts: [2, 2, 1, 0], conditions: [{ type: 'Updating', minutesAgo: 900 }] } },
    problems: ['NodeCordoned'],
    repairs: ['oc adm uncordon worker-1'],
  },
  'S5 in a paused pool': {
    source: 'own: the operator sets no desired config in a paused pool (syncMachineConfigPool)',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded('failed to create directory "/home/core/test": mkdir /home/core/test: not a directory'),
        cordon: byOperator(90),
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AA, counts: [2, 1, 1, 1], paused: true } },
    problems: ['DesiredOutdated'],
    repairs: [`oc annotate node worker-0 --overwrite ${MCO}/desiredConfig=${W.A}`],
  },
  'a paused pool of masters in an upgrade': {
    source: 'machine-config-operator#2009: the whole upgrade waits (syncRequiredMachineConfigPools)',
    nodes: { 'master-0': { ...MASTER, ...both(M.A) } },
    pools: { master: { spec: M.B, status: M.A, counts: [1, 0, 0, 0], paused: true, ...OLD } },
    problems: ['PoolPaused'],
    repairs: ['oc patch machineconfigpool master --type=merge -p {"spec":{"paused":false}}'],
  },
  'S5 with an open drain': {
    source: 'own: the daemon looks at nothing else before the drain has ended (syncNode in daemon.go)',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.drain('worker-0')),
        drainingForMinutes: 100,
        cordon: byOperator(100),
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AA, counts: [2, 1, 1, 1] } },
    obstacles: BUDGET,
    problems: ['DesiredOutdated', 'DrainBlocked'],
    repairs: [
      `oc annotate node worker-0 --overwrite ${MCO}/desiredConfig=${W.A}`,
      'let budget db/db-pdb allow a disruption, for example by another replica',
    ],
  },
  'a custom pool whose machineConfigSelector selects nothing': {
    source: 'own, with the text of render_controller.go',
    nodes: { 'infra-0': { roles: ['worker', 'infra'], ...both(W.A) }, 'worker-0': both(W.B) },
    pools: {
      worker: { spec: W.B, status: W.B },
      infra: {
        counts: [0, 0, 0, 0],
        ageMinutes: 400,
        conditions: [
          {
            type: 'RenderDegraded',
            minutesAgo: 399,
            message: 'no MachineConfigs found matching selector machineconfiguration.openshift.io/role in (infra)',
          },
        ],
      },
    },
    problems: ['PoolDegraded'],
    repairs: [
      'correct the machineConfigSelector of pool infra. That of a custom pool also selects those of pool worker',
    ],
  },
  'a custom pool without a config for hours': {
    source: 'own: an unfinished KubeletConfig returns before any condition (render_controller.go)',
    nodes: { 'infra-0': { roles: ['worker', 'infra'], ...both(W.A) } },
    pools: { worker: { ...AA, counts: [0, 0, 0, 0] }, infra: { counts: [0, 0, 0, 0], ageMinutes: 400 } },
    problems: ['SpecEmpty'],
    repairs: [READ_LOG],
  },
  'an old reason while the node drains': {
    source: 'own: the daemon compares the disk before the drain, and keeps the reason until it is Done',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.fileChanged('/etc/a')),
        drainingForMinutes: 2,
        cordon: byOperator(2),
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 1] } },
    problems: ['Recovering?'],
  },
  'an old reason while the node reboots': {
    source: 'own: the drain has ended',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.drain('worker-0')),
        notReady: { minutesAgo: 3 },
        annotations: {
          desiredDrain: `drain-${W.B}`,
          lastAppliedDrain: `drain-${W.B}`,
          'post-config-action': 'Rebooting',
        },
        cordon: byOperator(80),
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 1] } },
    problems: ['Recovering?'],
  },
  'two unknown machines ask for a certificate, and one is missing': {
    source: 'own: one of them can be a stranger',
    nodes: {
      control0: { ...MASTER, ...both(M.A), ageMinutes: 90_000 },
      control1: { ...MASTER, ...both(M.A), ageMinutes: 90_000 },
    },
    pools: { master: { ...MA, counts: [2, 2, 2, 0], ageMinutes: 90_000 } },
    controlPlane: { masters: 3, arbiters: 0 },
    requests: { 'csr-aaaaa': 'control2', 'csr-bbbbb': 'attacker' },
    problems: ['TooFewNodes'],
    repairs: ['oc adm certificate approve csr-aaaaa', 'oc adm certificate approve csr-bbbbb'],
  },
  'a machine without a host name asks for a certificate': {
    source:
      'okd-project/okd#338: a master lost its host name in a reboot (mco-hostname waits 5 minutes for another one)',
    nodes: { 'master-1': { ...MASTER, ...both(M.A), notReady: { minutesAgo: 90 } } },
    pools: { master: { ...MA, counts: [1, 1, 0, 0] } },
    requests: {
      'csr-a': 'localhost',
      'csr-b': 'localhost.localdomain',
      'csr-c': 'localhost',
      'csr-d': 'localhost-1',
      'csr-f': 'localhost-2',
    },
    signers: { 'csr-b': SERVING },
    problems: ['NodeNotReady'],
    repairs: [
      'start the machine or the kubelet of each lost node',
      `do not approve the requests of localhost: ${NO_HOST_NAME}`,
      `do not approve the requests of localhost.localdomain: ${NO_HOST_NAME}`,
      'oc adm certificate approve csr-d',
      'oc adm certificate approve csr-f',
    ],
  },
  'a state that no daemon reports': {
    source: 'own: a hostile node',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.A,
        state: 'Done\u001b[2K',
        reason: 'oc adm certificate approve csr-evil1',
        movedMinutesAgo: 200,
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AA, counts: [2, 1, 1, 0] } },
    problems: ['UpdateStalled'],
    repairs: [FIND_DAEMON],
  },
  'a cluster that was off for months': {
    source: 'okd-project/okd#285, #1629, openshift-docs#86600',
    nodes: {
      'master-0': { ...MASTER, ...both(M.A) },
      'worker-0': { ...both(W.A), notReady: { minutesAgo: 90_000 } },
      'worker-1': { ...both(W.A), notReady: { minutesAgo: 90_000 } },
    },
    pools: { master: MA, worker: { ...AA, counts: [2, 2, 0, 0] } },
    requests: { 'csr-1aaaa': 'worker-0', 'csr-2bbbb': 'worker-1', 'csr-3cccc': 'worker-0' },
    problems: ['CertificatePending'],
    repairs: ['oc adm certificate approve csr-1aaaa csr-2bbbb csr-3cccc'],
  },
  'the only node is down': {
    source: 'own: without it nothing answers',
    nodes: { 'master-0': { roles: ['master', 'worker'], ...both(M.A), notReady: { minutesAgo: 600 } } },
    pools: {
      master: { spec: M.B, status: M.A, counts: [1, 0, 0, 0], ...OLD },
      worker: { spec: W.A, status: W.A, counts: [0, 0, 0, 0] },
    },
    controlPlane: { masters: 1, arbiters: 0 },
    problems: ['NodeNotReady'],
    repairs: ['start the machine or the kubelet of each lost node'],
  },
  'two of three masters are down': {
    source: 'own: etcd has lost its quorum, or is about to',
    nodes: {
      'master-0': { ...MASTER, ...both(M.A) },
      'master-1': { ...MASTER, ...both(M.A), notReady: { minutesAgo: 100 } },
      'master-2': { ...MASTER, ...both(M.A), notReady: { minutesAgo: 100 } },
    },
    pools: { master: { spec: M.B, status: M.A, counts: [3, 0, 0, 0], ...OLD } },
    controlPlane: { masters: 3, arbiters: 0 },
    problems: ['NodeNotReady'],
    repairs: ['start the machine or the kubelet of each lost node'],
  },
  'a failed build of a paused pool': {
    source: 'openshift-docs: the build runs although the pool is paused',
    nodes: { 'worker-0': both(W.X) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 0, 0], paused: true, ...OLD } },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-f' } },
    builds: {
      'worker-f': {
        config: W.Y,
        osConfig: 'worker',
        conditions: [{ type: 'Failed', message: 'Build Failed' }],
        ageMinutes: 290,
      },
    },
    configs: [W.X, W.Y],
    problems: ['BuildFailed'],
    repairs: ['oc annotate machineosconfig worker --overwrite machineconfiguration.openshift.io/rebuild='],
  },
  'the operator crashes during a blocked drain': {
    source: 'own: nothing drains until it runs',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 120, cordon: byOperator(120) },
    },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0], ...OLD } },
    obstacles: {
      stoppedOperators: [
        { deployment: 'machine-config-controller', state: 'has no available replica', isScaledToZero: false },
      ],
      ...BUDGET,
    },
    problems: ['OperatorStopped', 'DrainBlocked'],
    repairs: [
      'oc get pods -n openshift-machine-config-operator -l k8s-app=machine-config-controller',
      'let budget db/db-pdb allow a disruption, for example by another replica',
    ],
  },
  'a lost node whose missing desired config no node has run': {
    source: 'own: the operator gives it another one once it is ready',
    nodes: {
      'worker-0': { current: W.A, desired: W.X, ...degraded(REASONS.missing(W.X)), notReady: { minutesAgo: 300 } },
      'worker-1': both(W.Y),
    },
    pools: { worker: { spec: W.Y, status: W.A, counts: [2, 1, 1, 1] } },
    configs: [W.A, W.Y],
    problems: ['ConfigMissing'],
    repairs: [
      'start the machine or the kubelet of each lost node. The operator then gives it the config of its pool',
      '# oc delete node worker-0',
    ],
  },
  'a node whose daemon has reported no state': {
    source: 'own: such a node is not Done (IsNodeDone)',
    nodes: { 'worker-0': { ...both(W.A), state: '' }, 'worker-1': both(W.A) },
    pools: { worker: { ...AB, counts: [2, 0, 0, 0], ...OLD } },
    problems: ['UpdateStalled'],
    repairs: [FIND_DAEMON],
  },
  'an old failure while the node drains': {
    source: 'own: the daemon has gone on',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded('failed to update OS to quay.io/x: unauthorized'),
        drainingForMinutes: 2,
        cordon: byOperator(2),
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 1], conditions: [{ type: 'NodeDegraded', minutesAgo: 290 }] } },
    problems: ['Recovering?', 'PoolDegraded?'],
  },
  'a missing config on a node whose kubelet says why it is not ready': {
    source: 'own: its disk can be read',
    nodes: {
      'master-0': {
        ...MASTER,
        ...both(M.X),
        ...degraded(REASONS.missing(M.X)),
        notReady: { minutesAgo: 50, status: 'False', message: 'no CNI configuration file' },
      },
      'master-1': { ...MASTER, ...both(M.Y) },
    },
    pools: { master: { spec: M.Y, status: M.X, counts: [2, 1, 1, 1], ageMinutes: 9000 } },
    configs: [M.Y],
    problems: ['ConfigMissing', 'NodeNotReady?'],
    repairs: [
      `machineconfig-guard restore ${M.X} --from node/master-0`,
      'repair what the kubelet of each node reports',
      `# oc annotate node master-0 --overwrite ${MCO}/currentConfig=${M.Y} ${MCO}/desiredConfig=${M.Y}`,
    ],
  },
  'a status that has named a missing config for hours': {
    source: 'own: the operator does not replace it',
    nodes: { 'worker-0': both(W.Y) },
    pools: { worker: { spec: W.Y, status: W.X, counts: [1, 0, 0, 0], ageMinutes: 9000, ...OLD } },
    configs: [W.Y],
    problems: ['ConfigMissing'],
    repairs: [
      'oc patch machineconfigpool worker --subresource=status --type=merge -p ' +
        JSON.stringify({ status: { configuration: { name: W.Y } } }),
    ],
  },
  'a worker that compares its disk with a config of masters': {
    source: 'own: a hostile node',
    nodes: {
      'worker-0': { ...both(W.A), ...degraded(REASONS.diskDiffers(M.A, '/etc/kubernetes/manifests/evil.yaml')) },
      'master-0': { ...MASTER, ...both(M.A) },
    },
    pools: { worker: { ...AA, counts: [1, 0, 0, 1] }, master: MA },
    problems: ['NodeDegraded'],
    repairs: [FIND_DAEMON],
  },
  'a daemon that has reported nothing for weeks, annotated just now': {
    source: 'own: as the printed command does it',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        movedMinutesAgo: 30_000,
        desiredWrite: { manager: 'kubectl-annotate', minutesAgo: 1 },
      },
    },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0], ...OLD } },
    problems: [],
  },
  'a stranger asks for the name of a master that is ready': {
    source: 'own: its certificate would have the rights of that master (csr_check.go)',
    nodes: {
      control0: { ...MASTER, ...both(M.A), ageMinutes: 40 },
      control1: { ...MASTER, ...both(M.A), ageMinutes: 40 },
    },
    pools: { master: { ...MA, counts: [2, 2, 2, 0], ageMinutes: 60 } },
    controlPlane: { masters: 3, arbiters: 0 },
    requests: { 'csr-evil2': 'control0', 'csr-good1': 'control2', 'csr-srv11': 'control1' },
    signers: { 'csr-srv11': SERVING },
    problems: ['TooFewNodes?'],
    repairs: ['oc adm certificate approve csr-good1', 'oc adm certificate approve csr-srv11'],
  },
  'a changed file on a node whose kubelet says why it is not ready': {
    source: 'own',
    nodes: {
      'worker-0': {
        ...both(W.A),
        ...degraded(REASONS.fileChanged('/etc/cni/x.conf')),
        notReady: { minutesAgo: 50, status: 'False', message: 'no CNI configuration file' },
      },
    },
    pools: { worker: { ...AA, counts: [1, 0, 0, 1], conditions: [{ type: 'NodeDegraded', minutesAgo: 60 }] } },
    problems: ['DiskDiffers', 'NodeNotReady?', 'PoolDegraded'],
    repairs: [
      `put file "/etc/cni/x.conf" back as ${W.A} has it. The node is then Done within 2 minutes`,
      'repair what the kubelet of each node reports',
      '# machineconfig-guard restore --from node/worker-0',
      '# oc debug node/worker-0 -- chroot /host touch /run/machine-config-daemon-force',
    ],
  },
  'pool worker is deleted, beside a custom pool': {
    source: 'own: the operator creates it again (syncMachineConfigPools)',
    nodes: {
      'master-0': { ...MASTER, ...both(M.A) },
      'worker-0': { ...both(W.A), ageMinutes: 90_000 },
      'infra-0': { roles: ['infra', 'worker'], ...both(I.A) },
    },
    pools: { master: { ...MA, ageMinutes: 90_000 }, infra: { spec: I.A, status: I.A } },
    problems: ['NotInPool?'],
  },
  "a node without a network that renews the certificate of its kubelet's server": {
    source: 'own: that never makes a node not ready',
    nodes: {
      'worker-0': {
        ...both(W.A),
        notReady: { minutesAgo: 300, status: 'False', message: 'no CNI configuration file' },
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 0, 0], ...OLD } },
    requests: { 'csr-srv02': 'worker-0' },
    signers: { 'csr-srv02': SERVING },
    problems: ['NodeNotReady'],
    repairs: [
      'repair what the kubelet of each node reports',
      'oc adm certificate approve csr-srv02',
      `# oc annotate node worker-0 --overwrite ${MCO}/desiredConfig=${W.B}`,
    ],
  },
  'a failed drain without a budget that blocks it': {
    source: 'own: two budgets of one pod end its eviction with an error, too',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.drain('worker-0')),
        drainingForMinutes: 90,
        cordon: byOperator(90),
      },
    },
    pools: { worker: { ...AB, counts: [1, 0, 0, 1] } },
    obstacles: { drainObstacles: new Map([['worker-0', { budgets: [], endingPods: [] }]]) },
    problems: ['DrainBlocked'],
    repairs: [READ_LOG],
  },
  'a pool without machines whose status stays old': {
    source: 'own: the operator writes it within seconds, because no machine is left to update (calculateStatus)',
    nodes: { 'master-0': { roles: ['master', 'worker'], ...both(M.A) } },
    pools: { master: MA, worker: { ...AB, counts: [0, 0, 0, 0], ...OLD } },
    problems: ['RolloutStalled'],
    repairs: [READ_LOG],
  },
  'a custom pool whose first roll-out takes hours': {
    source: 'own: its status stays empty until all machines are updated (calculateStatus)',
    nodes: {
      'infra-0': { roles: ['worker', 'infra'], ...both(I.A) },
      'infra-1': { roles: ['worker', 'infra'], current: W.A, desired: I.A, state: 'Working', movedMinutesAgo: 4 },
    },
    pools: {
      worker: { ...AA, counts: [0, 0, 0, 0] },
      infra: { spec: I.A, counts: [2, 1, 1, 0], conditions: [{ type: 'Updated', status: 'False', minutesAgo: 130 }] },
    },
    problems: [],
  },
  'a lost node that a person has deleted, and that a finalizer keeps': {
    source: 'cluster-api-provider-baremetal#97',
    nodes: {
      'worker-0': { ...both(W.A), notReady: { minutesAgo: 180 }, finalizers: ['metal3.io/capbm'] },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 0], ...OLD } },
    problems: ['NodeNotReady'],
    repairs: ['start the machine or the kubelet of each lost node'],
  },
  'a controller that has been of another release for hours': {
    source: 'own, with the text of render_controller.go: no source is wrong',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: {
        ...AA,
        conditions: [
          {
            type: 'RenderDegraded',
            minutesAgo: 180,
            message: 'Ignoring controller config generated from 4.19 (my version: 4.20)',
          },
        ],
      },
    },
    problems: ['PoolDegraded'],
    repairs: [READ_LOG],
  },
  'an operator that waits for the daemon of a lost node': {
    source: 'own: one step waits until each daemon is ready (waitForDaemonsetRollout in sync.go)',
    nodes: { 'worker-0': { ...both(W.A), notReady: { minutesAgo: 180 } } },
    pools: { worker: AA },
    obstacles: {
      operatorFailure: {
        type: 'Degraded',
        status: 'True',
        reason: 'MachineConfigDaemonFailed',
        message: 'Unable to apply 4.20.5: error during waitForDaemonsetRollout: daemonset is not ready',
        since: undefined,
      },
    },
    problems: ['NodeNotReady'],
    repairs: ['start the machine or the kubelet of each lost node', '# oc delete node worker-0'],
  },
  'a drain of pods that several budgets select': {
    source: 'openebs/openebs#3536, FoundationDB/fdb-kubernetes-operator#2512 (kubernetes, storage/eviction.go)',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 0.5 } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: {
      drainObstacles: new Map([
        [
          'worker-0',
          {
            budgets: [
              { namespace: 'shop', name: 'cart', others: ['team'], pods: ['cart-0', 'cart-1'] },
              { namespace: 'db', name: 'db-pdb', pods: ['db-0'] },
              { namespace: 'db', name: 'cache', pods: ['cache-0'], isTemporary: true },
              { namespace: 'fdb', name: 'storage', pods: ['storage-0'], isUncounted: true },
            ],
            endingPods: [],
          },
        ],
      ]),
    },
    problems: ['DrainBlocked'],
    repairs: [
      'let only one of these budgets select each pod: shop/cart and shop/team',
      'let budget db/db-pdb allow a disruption, for example by another replica',
      'give budget fdb/storage a number of pods as minAvailable: no controller says how many exist',
    ],
  },
  'a drain of a node that is in two custom pools': {
    source: 'own: the drain controller and the daemon first look for the one pool of the node (syncNode of both)',
    nodes: {
      'worker-0': {
        roles: ['worker', 'worker-rt', 'infra'],
        current: R.A,
        desired: I.A,
        ...degraded(REASONS.drain('worker-0')),
        drainingForMinutes: 90,
        cordon: byOperator(90),
      },
    },
    pools: {
      worker: { ...AA, counts: [0, 0, 0, 0] },
      infra: { spec: I.A, status: I.A, counts: [0, 0, 0, 0] },
      'worker-rt': { spec: R.A, status: R.A, counts: [0, 0, 0, 0] },
    },
    obstacles: BUDGET,
    problems: ['PoolConflict'],
    repairs: ['oc label node worker-0 --overwrite node-role.kubernetes.io/worker-rt-'],
  },
  'a drain that has just begun beside a budget with too few healthy pods': {
    source: 'own: the budget of the guard, while one of its pods starts on another node',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 0.5 } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: TEMPORARY_BUDGET,
    problems: [],
  },
  'a drain that waits for healthy pods': {
    source: 'own: the controller that manages the pods can start another one',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 50 } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: TEMPORARY_BUDGET,
    problems: ['DrainBlocked?'],
    repairs: ['see why pods of budget db/db-pdb are not ready. Leave the budget as it is'],
  },
  'a drain that has waited for healthy pods for an hour': {
    source: 'own: the pods that start do not get ready',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 65 } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: TEMPORARY_BUDGET,
    problems: ['DrainBlocked'],
    repairs: ['see why pods of budget db/db-pdb are not ready. Leave the budget as it is'],
  },
  'a drain that waits for virtual machines': {
    source: 'kubevirt/kubevirt#2091: an eviction is rejected, and starts the migration to another node',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 40 } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: {
      drainObstacles: new Map([
        [
          'worker-0',
          {
            budgets: ['a', 'b'].map((name) => ({
              namespace: 'vms',
              name: `kubevirt-disruption-budget-${name}`,
              pods: [`virt-launcher-${name}`],
              isTemporary: true,
              isOfMachine: true,
            })),
            endingPods: [],
          },
        ],
      ]),
    },
    problems: ['DrainBlocked?'],
    repairs: ['oc get virtualmachineinstancemigrations -A'],
  },
  'a drain that has just begun beside a budget that never allows a disruption': {
    source: 'own: all its pods are healthy, and the controller has yet to cordon the node',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 0.5, isUncordoned: true },
    },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: BUDGET,
    problems: ['DrainBlocked'],
    repairs: ['let budget db/db-pdb allow a disruption, for example by another replica'],
  },
  'a dead node whose kubelet had asked for the certificate of its server': {
    source: 'own: only a client certificate makes a node ready',
    nodes: { 'worker-0': { ...both(W.A), notReady: { minutesAgo: 300 } } },
    pools: { worker: { ...AA, counts: [1, 1, 0, 0] } },
    requests: { 'csr-srv03': 'worker-0' },
    signers: { 'csr-srv03': SERVING },
    problems: ['NodeNotReady'],
    repairs: [
      'start the machine or the kubelet of each lost node',
      'oc adm certificate approve csr-srv03',
      '# oc delete node worker-0',
    ],
  },
  'a lost node that a person has cordoned': {
    source: 'own: the cordon stays when it comes back',
    nodes: {
      'worker-0': {
        ...both(W.A),
        notReady: { minutesAgo: 300 },
        cordon: { manager: 'kubectl-cordon', minutesAgo: 400 },
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 0, 0] } },
    problems: ['NodeNotReady', 'NodeCordoned'],
    repairs: [
      'oc adm uncordon worker-0',
      'start the machine or the kubelet of each lost node',
      '# oc delete node worker-0',
    ],
  },
  'a node selector that the operator rejects': {
    source: 'own: it then finds the pool of no node, and so do the drain controller and all daemons (ListPools)',
    nodes: {
      'master-0': { ...MASTER, ...both(M.A) },
      'worker-0': { ...both(W.A), ...degraded('invalid label selector: "in" is not a valid label selector operator') },
      'infra-0': { roles: ['worker', 'infra'], ...both(I.A), cordon: byOperator(90) },
    },
    pools: {
      master: { spec: M.B, status: M.A, counts: [0, 0, 0, 0] },
      worker: { ...AA, counts: [0, 0, 0, 0] },
      infra: {
        spec: I.A,
        status: I.A,
        nodeSelector: { matchExpressions: [{ key: 'node-role.kubernetes.io/infra', operator: 'in', values: [''] }] },
      },
    },
    problems: ['ObjectRejected'],
    repairs: ['oc edit machineconfigpool infra'],
  },
  'a node selector without requirements, and settings that other pools do not notice': {
    source: 'own: the operator ignores only this pool (syncMachineConfigPool of two controllers)',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: AA,
      infra: { spec: I.A, counts: [1, 0, 1, 0], ...OLD, nodeSelector: {} },
      cnf: { counts: [0, 0, 0, 0], ageMinutes: 90, machineConfigSelector: {} },
      'worker-rt': { spec: R.A, status: R.B, counts: [2, 1, 2, 0], ...OLD, maxUnavailable: '3' },
    },
    problems: ['ObjectRejected'],
    repairs: [
      'oc edit machineconfigpool infra',
      'oc edit machineconfigpool cnf',
      'oc edit machineconfigpool worker-rt',
    ],
  },
  'values of maxUnavailable that the operator accepts': {
    source: 'own: it takes 0 for 1 (maxUnavailable in node_controller.go)',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AA, maxUnavailable: 0 }, infra: { spec: I.A, status: I.A, maxUnavailable: '100%' } },
    problems: [],
  },
  'a negative maxUnavailable': {
    source: 'own: so many machines are always unavailable (getAllCandidateMachines)',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AB, counts: [1, 0, 1, 0], maxUnavailable: -1 } },
    problems: ['ObjectRejected'],
    repairs: ['oc edit machineconfigpool worker'],
  },
  'KubeletConfigs that failed': {
    source: 'own: the operator renders none of their pools again (AreMCGeneratingSubControllersCompletedForPool)',
    nodes: { 'worker-0': both(W.A), 'infra-0': { roles: ['worker', 'infra'], ...both(I.A), desired: I.X } },
    pools: { worker: AA, infra: { spec: I.X, status: I.A, ...OLD }, cnf: { ageMinutes: 3, counts: [0, 0, 0, 0] } },
    obstacles: {
      failedSources: [
        { kind: 'KubeletConfig', name: 'max-pods', message: 'Error: bad', pools: ['infra', 'cnf'] },
        { kind: 'ContainerRuntimeConfig', name: 'pids', message: 'Error: no pool', pools: [] },
      ],
    },
    problems: ['ConfigMissing', 'ObjectRejected'],
    repairs: [
      `oc patch machineconfigpool infra --type=merge -p {"spec":{"configuration":{"name":"${I.A}"}}}`,
      `oc annotate node infra-0 --overwrite ${MCO}/desiredConfig=${I.A}`,
      'oc edit kubeletconfig max-pods',
      'oc edit containerruntimeconfig pids',
    ],
  },
  'a KubeletConfig without a pool, beside a missing config': {
    source: 'machine-config-operator#1532: what has no effect comes after what stops a node',
    nodes: { 'worker-0': { ...both(W.X), ...degraded(REASONS.missing(W.X)) } },
    pools: { worker: { ...AA, counts: [1, 0, 0, 1], conditions: [FAILED_FOR_HOURS] } },
    obstacles: {
      failedSources: [{ kind: 'KubeletConfig', name: 'max-pods', message: 'Error: could not find any', pools: [] }],
    },
    problems: ['ConfigMissing', 'PoolDegraded', 'ObjectRejected'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-0`,
      'oc edit kubeletconfig max-pods',
      `# oc annotate node worker-0 --overwrite ${MCO}/currentConfig=${W.A} ${MCO}/desiredConfig=${W.A}`,
    ],
  },
  'nodes at rest with a config of another pool': {
    source: 'the real controller of 4.20 takes S21-done back within 20 s',
    nodes: {
      'worker-0': both(R.A),
      'worker-1': both(M.A),
      'infra-0': { roles: ['worker', 'infra'], ...both(W.A) },
      'master-0': { ...MASTER, ...both(M.A) },
    },
    pools: {
      master: MA,
      worker: { ...AA, counts: [2, 0, 2, 0] },
      infra: { spec: I.A, status: I.A, counts: [1, 0, 1, 0] },
      'worker-rt': { spec: R.A, status: R.A, counts: [0, 0, 0, 0] },
    },
    problems: [],
  },
  'a node at rest with a config of another pool for hours': {
    source: 'own: the operator hangs',
    nodes: { 'worker-0': { ...both(R.A), movedMinutesAgo: 900 } },
    pools: {
      worker: { ...AA, ...OLD, counts: [1, 0, 1, 0] },
      'worker-rt': { spec: R.A, status: R.A, counts: [0, 0, 0, 0] },
    },
    problems: ['RolloutStalled'],
    repairs: [READ_LOG],
  },
  'pool worker and its config are gone': {
    source: 'own: the operator creates the pool again, and the same config from the same sources',
    nodes: { 'master-0': { ...MASTER, ...both(M.A) }, 'worker-0': both(W.A) },
    pools: { master: MA },
    configs: [M.A],
    problems: ['ConfigMissing?', 'NotInPool?'],
  },
  'pool worker and its config have been gone since the daemon noticed it': {
    source: 'own: the operator has had time for both, so it does not work',
    nodes: { 'master-0': { ...MASTER, ...both(M.A) }, 'worker-0': { ...both(W.A), ...degraded(REASONS.missing(W.A)) } },
    pools: { master: MA },
    configs: [M.A],
    problems: ['ConfigMissing', 'NotInPool'],
    repairs: [
      `machineconfig-guard restore ${W.A} --from node/worker-0`,
      `oc logs -n ${OPERATOR} deployment/machine-config-operator --tail=20`,
    ],
  },
  'a missing desired config that the operator has not taken back for hours': {
    source: 'own: it hangs, or other nodes are unavailable',
    nodes: {
      'worker-0': { current: W.A, desired: W.X, ...degraded(REASONS.missing(W.X)), desiredWrite: byOperator(90) },
    },
    pools: { worker: { ...AA, counts: [1, 0, 0, 1] } },
    problems: ['ConfigMissing'],
    repairs: [`oc annotate node worker-0 --overwrite ${MCO}/desiredConfig=${W.A}`],
  },
  'nodes without a config that exists, which the operator skips': {
    source: 'own: they are cordoned (getAllCandidateMachines)',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.X,
        ...degraded(REASONS.missing(W.X)),
        cordon: { manager: 'kubectl-cordon', minutesAgo: 30 },
      },
      'worker-1': { current: W.A, cordon: { manager: 'kubectl-cordon', minutesAgo: 30 } },
    },
    pools: { worker: { ...AA, counts: [2, 0, 0, 1] } },
    problems: ['ConfigMissing', 'NotReported'],
    repairs: ['worker-0', 'worker-1'].map((node) => `oc annotate node ${node} --overwrite ${MCO}/desiredConfig=${W.A}`),
  },
  'nodes at rest with a config of another pool, which the operator skips': {
    source: 'own: they are cordoned or lost. An uncordon also lets the operator notice a deleted pool',
    nodes: {
      'infra-0': { ...both(I.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 30 } },
      'worker-0': { ...both(R.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 30 } },
      'worker-1': { ...both(R.A), notReady: { minutesAgo: 300 } },
    },
    pools: {
      worker: { ...AA, counts: [3, 0, 0, 0] },
      'worker-rt': { spec: R.A, status: R.A, counts: [0, 0, 0, 0] },
    },
    problems: ['NodeCordoned', 'NodeNotReady'],
    repairs: [
      'oc adm uncordon infra-0 worker-0',
      'start the machine or the kubelet of each lost node',
      '# oc delete node worker-1',
    ],
  },
  'a pool that a person has just unpaused': {
    source: 'own: the operator looks at it 5 s later (updateDelay in node_controller.go)',
    nodes: { 'worker-0': both(W.A), 'worker-1': both(W.A) },
    pools: {
      worker: { ...AB, ...OLD, counts: [2, 0, 2, 0], settingWrite: { manager: 'kubectl-patch', minutesAgo: 0.1 } },
    },
    problems: [],
  },
  'a node that a person has just uncordoned in a roll-out': {
    source: 'own: the API does not say when. The operator counts 5 s later',
    nodes: { 'worker-0': both(W.A), 'worker-1': both(W.A) },
    pools: { worker: { ...AB, ...OLD, counts: [2, 0, 1, 0], unavailableCount: 1 } },
    problems: ['RolloutStalled?'],
    repairs: [READ_LOG],
  },
  'a roll-out that does not move, of a pool that gets no other config': {
    source: 'own: the operator goes on with the roll-out of the last config',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0], ...OLD } },
    obstacles: {
      failedSources: [{ kind: 'KubeletConfig', name: 'max-pods', message: 'Error: bad', pools: ['worker'] }],
    },
    problems: ['ObjectRejected', 'RolloutStalled'],
    repairs: ['oc edit kubeletconfig max-pods', READ_LOG],
  },
  'a roll-out that does not move, of a pool that cannot be rendered': {
    source: 'as before',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AB, ...OLD, conditions: [{ type: 'RenderDegraded', message: 'bad' }] } },
    problems: ['PoolDegraded', 'RolloutStalled'],
    repairs: ['correct the source MachineConfig of pool worker that the message is about', READ_LOG],
  },
  'a node that joins a pool whose first config the operator can still render': {
    source: 'own: its daemon goes on once the config exists',
    nodes: { 'infra-0': { roles: ['worker', 'infra'], current: W.A, desired: I.X, ...degraded(REASONS.missing(I.X)) } },
    pools: {
      worker: { ...AA, counts: [0, 0, 0, 0] },
      infra: { spec: I.X, counts: [1, 0, 0, 1], ageMinutes: 5 },
    },
    problems: ['ConfigMissing?', 'StatusEmpty?'],
  },
  'a node without a daemon for days': {
    source: 'own: its machine-config-daemon has never run',
    nodes: { 'worker-0': { ageMinutes: 9_000, state: '' } },
    pools: { worker: { ...AA, counts: [1, 0, 0, 0] } },
    problems: ['NotReported'],
    repairs: [FIND_DAEMON],
  },
  'an uncordon that the controller does not finish': {
    source: 'own: the daemon gives up after 10 minutes (completeUpdate in daemon.go)',
    nodes: {
      'worker-0': {
        current: W.A,
        desired: W.B,
        ...degraded(REASONS.uncordon('worker-0')),
        annotations: { desiredDrain: `uncordon-${W.B}`, lastAppliedDrain: `drain-${W.B}` },
        cordon: byOperator(90),
      },
    },
    pools: { worker: { ...AB, counts: [1, 0, 0, 1], conditions: [{ type: 'NodeDegraded', minutesAgo: 80 }] } },
    problems: ['NodeDegraded', 'PoolDegraded'],
    repairs: [READ_LOG],
  },
  'a changed file on a node that the operator has cordoned': {
    source: 'own: the daemon asks for the uncordon once it is Done',
    nodes: { 'worker-0': { ...both(W.A), ...degraded(REASONS.kernelArguments(W.A, 'a=b')), cordon: byOperator(90) } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 1] } },
    problems: ['DiskDiffers'],
    repairs: ['oc debug node/worker-0 -- chroot /host rpm-ostree kargs --append=a=b'],
  },
  'a daemon that does not start the update to a new image': {
    source: 'own: in image mode a node with the config of the pool can have an old image (isNodeImageDone)',
    nodes: {
      'worker-0': { ...both(W.A), annotations: { desiredImage: 'os@b', currentImage: 'os@a' }, movedMinutesAgo: 200 },
    },
    pools: { worker: { ...AA, ...OLD, counts: [1, 0, 1, 0], conditions: [{ type: 'Updating', minutesAgo: 200 }] } },
    problems: ['UpdateStalled'],
    repairs: [FIND_DAEMON],
  },
  'no desired config for hours': {
    source: 'own: the operator sets it within seconds',
    nodes: { 'worker-0': { current: W.A, ...degraded(REASONS.desiredAbsent('worker-0')), movedMinutesAgo: 120 } },
    pools: { worker: { ...AA, counts: [1, 0, 0, 1] } },
    problems: ['NotReported'],
    repairs: [`oc annotate node worker-0 --overwrite ${MCO}/desiredConfig=${W.A}`],
  },
  'a failed build beside a cordoned node': {
    source: 'own: the pool is Degraded because of the build alone',
    nodes: { 'worker-0': { ...both(W.A), cordon: { manager: 'kubectl-cordon', minutesAgo: 30 } } },
    pools: {
      worker: { ...AB, counts: [1, 0, 0, 0], conditions: [{ type: 'ImageBuildDegraded' }, { type: 'Degraded' }] },
    },
    osConfigs: { worker: { pool: 'worker', currentBuild: 'worker-f' } },
    builds: { 'worker-f': { config: W.B, osConfig: 'worker', conditions: [{ type: 'Failed' }] } },
    problems: ['NodeCordoned', 'BuildFailed'],
    repairs: ['oc adm uncordon worker-0', `oc annotate machineosconfig worker --overwrite ${MCO}/rebuild=`],
  },
  'nodes in no pool, and lost ones': {
    source: 'own: a rack is down. One command for equal labels, and one deletion at a time',
    nodes: {
      'worker-0': { roles: [], ...both(W.A) },
      'worker-1': { roles: [], ...both(W.A) },
      'worker-2': { ...both(W.A), notReady: { minutesAgo: 300 } },
      'worker-3': { ...both(W.A), notReady: { minutesAgo: 300 } },
    },
    pools: { worker: { ...AA, counts: [2, 2, 0, 0] } },
    problems: ['NotInPool', 'NodeNotReady'],
    repairs: [
      'oc label node worker-0 worker-1 --overwrite node-role.kubernetes.io/worker=',
      'start the machine or the kubelet of each lost node',
      '# oc delete node worker-2',
    ],
  },
  'conditions of a pool that no node explains': {
    source: 'machine-config-operator#5110: the status of a MachineConfigNode is old',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AA, conditions: [{ type: 'NodeDegraded', minutesAgo: 100, message: 'Node worker-0 …' }] } },
    problems: ['PoolDegraded'],
    repairs: ['oc describe machineconfignodes'],
  },
  'a record of the current config that ends early': {
    source: 'a power failure; prepUpdateFromCluster and checkStateOnFirstRun of the daemon decode the file first',
    nodes: {
      'worker-0': { ...both(W.A), ...degraded(REASONS.recordDamaged) },
      'worker-1': { current: W.A, desired: W.B, ...degraded('EOF') },
    },
    pools: { worker: { ...AB, counts: [2, 0, 0, 2] } },
    problems: ['DiskDiffers'],
    repairs: ['worker-0', 'worker-1'].map(
      (node) => `oc debug node/${node} -- chroot /host mv ${RECORD} ${RECORD}.damaged`,
    ),
  },
  'a config that nothing renders, and a roll-out that stands still': {
    source: 'own: the operator could render it, and has not for hours',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { spec: W.X, status: W.A, ...OLD } },
    problems: ['ConfigMissing?', 'RolloutStalled'],
    repairs: [READ_LOG],
  },
  'a paused pool of masters with a changed disk': {
    source: 'own: neither hides the other',
    nodes: { 'master-0': { ...MASTER, ...both(M.A), ...degraded(REASONS.kernelArguments(M.A, 'a=b')) } },
    pools: { master: { spec: M.B, status: M.A, counts: [1, 0, 0, 1], paused: true } },
    problems: ['DiskDiffers', 'PoolPaused'],
    repairs: [
      'oc debug node/master-0 -- chroot /host rpm-ostree kargs --append=a=b',
      'oc patch machineconfigpool master --type=merge -p {"spec":{"paused":false}}',
    ],
  },
  'a pool without machines whose only config is gone': {
    source: 'own: the operator cannot render it, so its status stays',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: AA,
      infra: { spec: I.X, status: I.X, counts: [0, 0, 0, 0], conditions: [{ type: 'RenderDegraded', message: 'bad' }] },
    },
    problems: ['ConfigMissing', 'PoolDegraded'],
    repairs: ['correct the source MachineConfig of pool infra that the message is about'],
  },
  'a custom pool whose first roll-out does not move': {
    source: 'own: the operator hangs',
    nodes: { 'infra-0': { roles: ['worker', 'infra'], ...both(W.A), movedMinutesAgo: 5_000 } },
    pools: {
      worker: { ...AA, counts: [0, 0, 0, 0] },
      infra: { spec: I.A, counts: [1, 0, 1, 0], conditions: [{ type: 'Updated', status: 'False', minutesAgo: 80 }] },
    },
    problems: ['RolloutStalled'],
    repairs: [READ_LOG],
  },
  'a missing config that a lost node and another one have run': {
    source: 'own: the other one has a copy, which the lost one needs only once it is back',
    nodes: { 'worker-0': { ...both(W.X), notReady: { minutesAgo: 300 } }, 'worker-1': both(W.X) },
    pools: { worker: { ...AA, counts: [2, 0, 0, 0] } },
    problems: ['ConfigMissing'],
    repairs: [
      `machineconfig-guard restore ${W.X} --from node/worker-1`,
      `# oc annotate node worker-1 --overwrite ${MCO}/currentConfig=${W.A} ${MCO}/desiredConfig=${W.A}`,
      '# oc delete node worker-0',
    ],
  },
  'a full disk beside a failed update': {
    source: 'own: the message of the daemon can be any, and the kubelet says why it fails',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, ...degraded('failed to update OS'), conditions: [DISK_PRESSURE] },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 1], conditions: [FAILED_FOR_HOURS] } },
    problems: ['NodeDegraded', 'NodeUnavailable', 'PoolDegraded'],
    repairs: ['oc debug node/worker-0 -- chroot /host rpm-ostree status', FREE_SPACE, UNDO],
  },
  'a full disk beside an update that does not begin': {
    source: 'own: as above',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, movedMinutesAgo: 200, conditions: [DISK_PRESSURE] },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, ...OLD, counts: [2, 0, 1, 0] } },
    problems: ['UpdateStalled', 'NodeUnavailable'],
    repairs: [FREE_SPACE, FIND_DAEMON],
  },
  'a full disk in an update that goes on': {
    source: 'own: the kubelet removes old images meanwhile',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, state: 'Working', movedMinutesAgo: 5, conditions: [DISK_PRESSURE] },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 0] } },
    problems: [],
  },
  'a new failure beside an old one': {
    source: 'own: the condition of the pool is that of all its nodes (pkg/controller/node/status.go)',
    nodes: {
      'worker-0': { current: W.A, desired: W.B, ...degraded('disk failure'), desiredWrite: byOperator(300) },
      'worker-1': { current: W.A, desired: W.B, ...degraded('image failure'), desiredWrite: byOperator(10) },
    },
    pools: { worker: { ...AB, counts: [2, 0, 0, 2], maxUnavailable: 2, conditions: [FAILED_FOR_HOURS] } },
    problems: ['NodeDegraded', 'NodeDegraded?', 'PoolDegraded'],
    repairs: [REPAIR, UNDO],
  },
  'a failed update in a paused pool': {
    source: 'own: the operator takes no node of a paused pool back (syncMachineConfigPool)',
    nodes: { 'worker-0': { current: W.A, desired: W.B, ...degraded('failed to write file') }, 'worker-1': both(W.A) },
    pools: { worker: { ...AB, counts: [2, 0, 1, 1], paused: true, conditions: [FAILED_FOR_HOURS] } },
    problems: ['NodeDegraded', 'PoolDegraded'],
    repairs: [REPAIR],
  },
  'pinned images that a node has not pulled for ten minutes': {
    source: 'machine-config-operator#6046: nothing but the MachineConfigNodes says which image',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: {
        ...AA,
        conditions: [
          {
            type: 'PinnedImageSetsDegraded',
            message: "Node worker-0 references an invalid PinnedImageSet. See the node's MachineConfigNode resource",
            minutesAgo: 10,
          },
        ],
      },
    },
    problems: ['PoolDegraded?'],
    repairs: ['oc describe machineconfignodes'],
  },
  'two custom pools, and the one of the config is gone': {
    source: 'own: a person has to decide (GetPoolsForNode)',
    nodes: { 'worker-0': { roles: ['worker', 'infra', 'cnf'], ...both(R.A) } },
    pools: { cnf: { spec: C.A, status: C.A }, infra: { spec: I.A, status: I.A }, worker: AA },
    problems: ['PoolConflict'],
    repairs: [
      `# oc label node worker-0 --overwrite ${label('infra')}-`,
      `# oc label node worker-0 --overwrite ${label('cnf')}-`,
    ],
  },
  'two custom pools that no label separates': {
    source: 'own: their selectors are the same',
    nodes: { 'worker-0': { roles: ['worker', 'infra'], ...both(R.A) } },
    pools: {
      worker: AA,
      infra: { spec: I.A, status: I.A },
      cnf: { spec: C.A, status: C.A, nodeSelector: { matchLabels: { [label('infra')]: '' } } },
    },
    problems: ['PoolConflict'],
    repairs: ['change the labels of the node, or the selector of a pool, so that only one custom pool selects it'],
  },
  'a master in two custom pools': {
    source: 'own: with one, it would be in pool master (GetPoolsForNode)',
    nodes: { 'master-0': { roles: ['master', 'infra', 'cnf'], ...both(M.A) } },
    pools: {
      cnf: { spec: C.A, status: C.A },
      infra: { spec: I.A, status: I.A },
      master: { spec: M.B, status: M.A, counts: [1, 0, 0, 0] },
    },
    problems: ['PoolConflict'],
    repairs: [`oc label node master-0 --overwrite ${label('cnf')}- ${label('infra')}-`],
  },
  'a worker in two custom pools that names a config of masters': {
    source: 'own: a compromised node must not become a master by the advice',
    nodes: { 'worker-0': { roles: ['worker', 'infra', 'cnf'], ...both(M.A) } },
    pools: {
      cnf: { spec: C.A, status: C.A },
      infra: { spec: I.A, status: I.A },
      master: { ...MA, counts: [0, 0, 0, 0] },
      worker: AA,
    },
    problems: ['PoolConflict'],
    repairs: [
      `# oc label node worker-0 --overwrite ${label('infra')}-`,
      `# oc label node worker-0 --overwrite ${label('cnf')}-`,
    ],
  },
  'a paused pool of arbiters in an upgrade': {
    source: 'own: the operator requires it, too (manifests/arbiter.machineconfigpool.yaml)',
    nodes: { 'arbiter-0': { roles: ['arbiter'], ...both(ARBITER.A) } },
    pools: { arbiter: { spec: ARBITER.B, status: ARBITER.A, counts: [1, 0, 0, 0], paused: true } },
    problems: ['PoolPaused'],
    repairs: ['oc patch machineconfigpool arbiter --type=merge -p {"spec":{"paused":false}}'],
  },
  'a paused pool that a person has made required for upgrades': {
    source: 'own: any pool with the label (syncRequiredMachineConfigPools)',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0], paused: true, labels: REQUIRED } },
    problems: ['PoolPaused'],
    repairs: ['oc patch machineconfigpool worker --type=merge -p {"spec":{"paused":false}}'],
  },
  'S6 a minute after the printed repair': {
    source: 'own: the operator has started a build of a roll-out that is hours old',
    nodes: { 'worker-0': both(W.A) },
    pools: { worker: { ...AB, ...OLD, counts: [1, 0, 0, 0] } },
    osConfigs: { layered: { pool: 'worker', currentBuild: 'layered-b' } },
    builds: { 'layered-b': { config: W.B, osConfig: 'layered', ageMinutes: 1, conditions: [{ type: 'Building' }] } },
    problems: [],
  },
  'a changed file on a full disk, without an update': {
    source: 'own: a full disk changes no file',
    nodes: { 'worker-0': { ...both(W.A), ...degraded(REASONS.diskDiffers(W.A)), conditions: [DISK_PRESSURE] } },
    pools: { worker: { ...AA, counts: [1, 1, 0, 1] } },
    problems: ['DiskDiffers'],
    repairs: [
      `put file "/etc/a" back as ${W.A} has it. The node is then Done within 2 minutes`,
      '# machineconfig-guard restore --from node/worker-0',
      '# oc debug node/worker-0 -- chroot /host touch /run/machine-config-daemon-force',
    ],
  },
  'an uncordon that has failed for ten minutes': {
    source: 'own: the reason names the log that says more',
    nodes: { 'worker-0': { ...both(W.B), ...degraded(REASONS.uncordon('worker-0')) } },
    pools: {
      worker: {
        ...AB,
        counts: [1, 0, 0, 1],
        conditions: [{ type: 'NodeDegraded', message: 'Node worker-0 is reporting: "…"', minutesAgo: 10 }],
      },
    },
    problems: ['NodeDegraded?', 'PoolDegraded?'],
    repairs: [READ_LOG],
  },
  'the budget of etcd blocks a drain, because another master is lost': {
    source: 'own: the guard pods of etcd have a PodDisruptionBudget',
    nodes: {
      'master-0': { ...MASTER, current: M.A, desired: M.B, state: 'Working', drainingForMinutes: 40 },
      'master-1': { ...MASTER, ...both(M.A), notReady: { minutesAgo: 50 } },
      'master-2': { ...MASTER, ...both(M.A) },
    },
    pools: { master: { spec: M.B, status: M.A, counts: [3, 0, 1, 0] } },
    obstacles: {
      drainObstacles: new Map([
        [
          'master-0',
          {
            budgets: [
              { namespace: 'openshift-etcd', name: 'etcd-guard-pdb', pods: ['etcd-guard-master-0'], isTemporary: true },
            ],
            endingPods: [],
          },
        ],
      ]),
    },
    problems: ['DrainBlocked?', 'NodeNotReady?'],
    repairs: [
      'start the machine or the kubelet of each lost node',
      'see why pods of budget openshift-etcd/etcd-guard-pdb are not ready. Leave the budget as it is',
      '# oc delete node master-1',
    ],
  },
  'a drain of a node that a person has uncordoned': {
    source: 'machine-config-operator#6028: the controller cordons a node only when a drain begins (drainNode)',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 40, isUncordoned: true } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    problems: ['DrainBlocked?'],
    repairs: ['oc adm cordon worker-0', READ_LOG],
  },
  'a drain that waits for the grace period of a pod': {
    source: 'own: a database may have hours to stop, and only then something can be wrong',
    nodes: { 'worker-0': { current: W.A, desired: W.B, state: 'Working', drainingForMinutes: 90 } },
    pools: { worker: { ...AB, counts: [1, 0, 0, 0] } },
    obstacles: {
      drainObstacles: new Map([
        ['worker-0', { budgets: [], endingPods: ['db/db-0'], graceEnd: new Date('2026-11-20T12:20:00Z') }],
      ]),
    },
    problems: ['DrainBlocked?'],
  },
  'a node of whose network nothing is known': {
    source: 'own: the operator counts anything but False (CheckNodeReady)',
    nodes: {
      'worker-0': {
        ...both(W.A),
        conditions: [{ type: 'NetworkUnavailable', status: 'Unknown', minutesAgo: 120 }],
      },
      'worker-1': both(W.A),
    },
    pools: { worker: { ...AB, counts: [2, 0, 1, 0] } },
    problems: ['NodeUnavailable'],
    repairs: ['repair the network of the node. Its update then goes on'],
  },
  'a MachineConfig that the operator has not rendered': {
    source:
      'machine-config-operator#3806: the render controller waits without a word for an unfinished ControllerConfig',
    nodes: { 'worker-0': both(W.A) },
    pools: {
      worker: {
        ...AB,
        ...OLD,
        counts: [1, 0, 1, 0],
        machineConfigSelector: { matchLabels: { role: 'worker' } },
        sources: ['00-worker'],
      },
    },
    obstacles: {
      sources: [
        { name: '00-worker', labels: { role: 'worker' }, createdAt: new Date(0) },
        { name: '99-worker-ntp', labels: { role: 'worker' }, createdAt: new Date('2026-11-20T10:00:00Z') },
        { name: '99-worker-ssh', labels: { role: 'worker' }, createdAt: new Date('2026-11-20T11:51:00Z') },
        { name: '99-infra-ssh', labels: { role: 'infra' }, createdAt: new Date(0) },
      ],
    },
    problems: ['SourceNotRendered', 'RolloutStalled'],
    repairs: [READ_LOG],
  },
  'a node that the operator has cordoned, and then left': {
    source: 'own: a person has put the annotations back during the update (okd-project/okd#593)',
    nodes: { 'worker-0': { ...both(W.A), cordon: byOperator(20) }, 'worker-1': both(W.A) },
    pools: { worker: { ...AB, counts: [2, 0, 1, 0] } },
    problems: ['NodeCordoned'],
    repairs: ['oc adm uncordon worker-0'],
  },
  'pool worker is deleted, and a node of a custom pool still has its config': {
    source: 'own: the operator creates the pool again, so no label goes',
    nodes: { 'infra-0': { roles: ['worker', 'infra'], ...both(W.A) } },
    pools: { infra: { spec: I.A, status: I.A, counts: [1, 0, 1, 0] } },
    problems: [],
  },
};
