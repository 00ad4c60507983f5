import { REASONS } from '../../../support/daemon-reasons.ts';
import { OPERATOR_VARIABLE, selectOperator } from '../operator-binaries.ts';
import { BY_HAND } from './follow-check.ts';
import { FILES, type FirstBoot, type Lab, type Row } from './lab.ts';

/** Somebody does something, and the node reports what it makes of it. */
export interface Step {
  /** Subject and verb. */
  readonly text: string;
  readonly act: (lab: Lab) => Promise<unknown>;
  /** The reports that follow, and no others. The step ends with the last one. */
  readonly rows: readonly Row[];
  /** How often the daemon must fail again before the next step, with the same report. */
  readonly failures?: number;
}

export interface Scenario {
  /** Of its pool. */
  readonly name: string;
  /** What happens and what the machine does, as the name of the test. */
  readonly title: string;
  /** Whether `.ci/run` runs it, too. */
  readonly isShort?: true;
  /** Whether `--long` also runs it with the waits that a daemon has in a cluster. */
  readonly hasLongWaits?: true;
  /** See {@link UNCHANGED_BOOT_OBSTACLE}. */
  readonly firstBoot?: FirstBoot;
  /** X exists only on the disk of the machine, as after a bootstrap host that rendered it. */
  readonly isXMissing?: true;
  /** The reports after the first boot, if not {@link BOOTED}. */
  readonly booted?: readonly Row[];
  readonly steps?: readonly Step[];
  /** The commands of `check`, followed until it is fine. */
  readonly commands?: readonly string[];
  /** What a person does for an advice that no command can follow. */
  readonly byHand?: (lab: Lab) => Promise<unknown>;
  /** The reports while the advice is followed. */
  readonly followed?: readonly Row[];
  /** After that. */
  readonly afterwards?: readonly Step[];
  /** The content of files at the end. Undefined: the file does not exist. */
  readonly disk: Readonly<Record<string, string | undefined>>;
  /** How often the machine has booted at the end. */
  readonly bootCount: number;
}

const RELEASE = selectOperator(OPERATOR_VARIABLE, process.env[OPERATOR_VARIABLE]).openshift;

/** Why there is no first boot that changes nothing. Undefined if there is one. */
export const UNCHANGED_BOOT_OBSTACLE =
  RELEASE === '4.15' ? 'the first boot of OpenShift 4.15 always sets kernel arguments' : undefined;

/** Why no image can be built. Undefined if it can. */
export const IMAGE_MODE_OBSTACLE =
  RELEASE === '4.15' ? 'the operator of OpenShift 4.15 has no MachineOSConfig' : undefined;

const report = (state: string, current: string, desired: string, reason = '') => ({ state, reason, current, desired });
const done = (current: string, desired = current) => report('Done', current, desired);
const working = (current: string, desired = current) => report('Working', current, desired);
const degraded = (reason: string, current: string, desired = current) => report('Degraded', current, desired, reason);
const REGISTERED = report('', '', '');

/** The daemon first writes the annotations of the server, and compares nothing. */
export const BOOTED = [REGISTERED, done('X')];
const UPDATED = [done('X', 'Y'), working('X', 'Y'), done('Y')];

const NO_NAME = `rendered-POOL-${'f'.repeat(32)}`;
const FORCE_FILE = '/run/machine-config-daemon-force';

/** A daemon that starts finds no config of this name. */
const missingAtStart = RELEASE === '4.15' ? REASONS.notFound : REASONS.missing;

/** A daemon that runs finds no config of this name. */
function missing(config: string): string {
  return RELEASE === '4.15' ? `prepping update: ${missingAtStart(config)}` : missingAtStart(config);
}

const MISMATCH = REASONS.fileChanged(FILES.both);
const unexpected = (config: string) => REASONS.diskDiffers(config, FILES.both);

/** Of a first boot with X, which is not in the API. */
const BOOTSTRAP_CONFIG_MISSING = RELEASE === '4.15' ? missingAtStart('X') : REASONS.bootstrapMismatch('X', 'Y');
const UNCHANGED_BOOTSTRAP_CONFIG_MISSING = RELEASE === '4.15' ? missingAtStart('X') : REASONS.bootstrapDiskUnread;
const DESIRED_NOT_FOUND = REASONS.desiredAbsent('NODE');

const ANNOTATE = 'oc annotate node NODE --overwrite';
const nameDesired = (config: string) => `machineconfiguration.openshift.io/desiredConfig=${config}`;
const nameBoth = (config: string) =>
  `machineconfiguration.openshift.io/currentConfig=${config} machineconfiguration.openshift.io/desiredConfig=${config}`;
const RESTORE = [
  'machineconfig-guard restore X --from node/NODE',
  'machineconfig-guard restore X --from node/NODE --confirm',
];

const step = (text: string, act: Step['act'], ...rows: readonly Row[]): Step => ({ text, act, rows });
const PAUSE = step('a person pauses the pool', (lab) => lab.pause());
const UNPAUSE = step('a person unpauses the pool', (lab) => lab.unpause(), ...UPDATED);
const RENDER = step('a source changes', (lab) => lab.render('Y'));
const DELETE_X = step('a person deletes X', (lab) => lab.deleteConfig('X'));
const startDaemon = (...rows: readonly Row[]) =>
  step('the daemon starts again', (lab) => lab.machine.killDaemon(), ...rows);
const writeStatus = (...rows: readonly Row[]) =>
  step('the kubelet writes its status', (lab) => lab.machine.heartbeat(), ...rows);
const BLOCK_DRAIN = step('a pod with a budget starts', (lab) => lab.blockDrain());
const START_UPDATE = { ...RENDER, rows: UPDATED.slice(0, 2) };
/** A paused pool gets Y, and X is gone. */
const LOSE_X = [PAUSE, RENDER, DELETE_X];
const NAME_Y = (lab: Lab) => lab.annotate({ currentConfig: 'Y', desiredConfig: 'Y' });
const FORCE = (lab: Lab) => lab.machine.run('touch', FORCE_FILE);
const CHANGE_FILE = step(
  'a person changes a file',
  (lab) => lab.changeFile(),
  degraded(MISMATCH, 'X'),
  degraded(unexpected('X'), 'X'),
);
const PUT_BACK = async (lab: Lab) => lab.machine.write(FILES.both, 'X');

const DISK_OF_X = { [FILES.both]: 'X', [FILES.onlyX]: 'X', [FILES.onlyY]: undefined };
const DISK_OF_Y = { [FILES.both]: 'Y', [FILES.onlyX]: undefined, [FILES.onlyY]: 'Y' };
/** No comparison finds the file that only X has. */
const DISK_OF_Y_WITH_REST = { ...DISK_OF_Y, [FILES.onlyX]: 'X' };

/** One record for each state that the real daemon can be in, from its cause on. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'other-image',
    title: 'boots with another image than the config has: changes to it, with one reboot',
    firstBoot: 'image',
    disk: DISK_OF_X,
    bootCount: 2,
  },
  {
    name: 'rollout',
    title: 'a source changes: updates with one reboot, and names the new config when it is done',
    hasLongWaits: true,
    steps: [START_UPDATE],
    followed: UPDATED.slice(2),
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'paused',
    title: 'a source changes while the pool is paused: updates when it is unpaused',
    steps: [PAUSE, RENDER],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'killed',
    title: 'the daemon is killed while it updates: continues',
    steps: [START_UPDATE, step('the daemon is killed', (lab) => lab.machine.killDaemon())],
    followed: UPDATED.slice(2),
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'blocked',
    title: 'a budget blocks the drain: waits in the state Working',
    steps: [BLOCK_DRAIN, START_UPDATE],
    commands: [BY_HAND],
    byHand: (lab) => lab.unblockDrain(),
    followed: UPDATED.slice(2),
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'cordoned',
    title: 'a cordoned node: the operator does not update it',
    steps: [step('a person cordons the node', (lab) => lab.cordon()), RENDER],
    commands: ['oc adm uncordon NODE'],
    followed: UPDATED,
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'not-ready',
    title: 'a kubelet stops: the operator does not update its node',
    steps: [step('the kubelet stops', (lab) => lab.machine.stopKubelet()), RENDER],
    commands: [BY_HAND],
    byHand: (lab) => lab.machine.heartbeat(),
    followed: UPDATED,
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'disk-pressure',
    title: 'a disk is full: the operator does not update its node, although it is ready',
    steps: [step('the kubelet reports it', (lab) => lab.machine.setDiskPressure('True')), RENDER],
    commands: [BY_HAND],
    byHand: (lab) => lab.machine.setDiskPressure('False'),
    followed: UPDATED,
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'reverted',
    title: 'a source changes back while a budget blocks the drain: updates twice',
    steps: [BLOCK_DRAIN, START_UPDATE, step('the source changes back', (lab) => lab.render('X'))],
    commands: [BY_HAND],
    byHand: (lab) => lab.unblockDrain(),
    followed: [done('Y'), done('Y', 'X'), working('Y', 'X'), done('X')],
    disk: DISK_OF_X,
    bootCount: 4,
  },
  {
    name: 'pool-deleted',
    title: 'a person deletes the pool and changes a label: updates to the config of pool worker',
    steps: [step('a person deletes the pool, and changes a label', (lab) => lab.deletePool(), ...UPDATED)],
    disk: { [FILES.both]: undefined, [FILES.onlyX]: undefined, [FILES.onlyY]: undefined },
    bootCount: 3,
  },
  {
    name: 'deleted',
    title: 'X is deleted: Degraded after the next change of the node, Done when it exists again',
    hasLongWaits: true,
    isShort: true,
    steps: [...LOSE_X, writeStatus(degraded(missing('X'), 'X'))],
    commands: RESTORE,
    followed: [done('X')],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'deleted-restarted',
    title: 'X is deleted and the daemon starts again: Degraded, Done when X exists again',
    steps: [...LOSE_X, startDaemon(degraded(missingAtStart('X'), 'X'))],
    commands: RESTORE,
    followed: [done('X')],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'deleted-renamed',
    title: 'X is deleted, and the annotations are set to Y: its disk has X, so it updates from X to Y',
    steps: [
      ...LOSE_X,
      startDaemon(degraded(missingAtStart('X'), 'X')),
      step('a person sets the annotations to Y', NAME_Y, degraded(missingAtStart('X'), 'Y')),
    ],
    followed: [done('Y')],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'renamed',
    title: 'the annotations are set to Y: its disk has X, so it updates from X to Y',
    isShort: true,
    steps: [PAUSE, RENDER, step('a person sets the annotations to Y', NAME_Y, done('Y'), working('Y'))],
    followed: [done('Y')],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'no-such-config',
    title: 'its desired config does not exist: Degraded, Done when desiredConfig names X again',
    steps: [
      PAUSE,
      step(
        'a person sets desiredConfig to a name that does not exist',
        (lab) => lab.annotate({ desiredConfig: NO_NAME.replace('POOL', lab.pool) }),
        done('X', NO_NAME),
        degraded(missing(NO_NAME), 'X', NO_NAME),
      ),
    ],
    commands: [`${ANNOTATE} ${nameDesired('X')}`],
    followed: [degraded(missing(NO_NAME), 'X'), done('X')],
    disk: DISK_OF_X,
    bootCount: 2,
  },
  {
    name: 'misspelled',
    title: 'the annotations are set to a misspelled name of Y: Degraded, updates when they name Y',
    steps: [
      PAUSE,
      RENDER,
      step(
        'a person sets the annotations to a misspelled Y',
        (lab) => {
          const name = lab.nameOf('Y').replace('rendered', 'render');
          return lab.annotate({ currentConfig: name, desiredConfig: name });
        },
        done('render-POOL-Y'),
        degraded(missing('render-POOL-Y'), 'render-POOL-Y'),
      ),
    ],
    commands: [`${ANNOTATE} ${nameBoth('Y')}`],
    followed: [degraded(missing('render-POOL-Y'), 'Y'), done('Y')],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'desired-removed',
    title:
      'desiredConfig is removed: Degraded with an empty name, and with another reason when the daemon starts again',
    steps: [
      PAUSE,
      step(
        'a person removes desiredConfig',
        (lab) => lab.annotate({ desiredConfig: null }),
        done('X', ''),
        degraded(missing(''), 'X', ''),
      ),
      startDaemon(degraded(DESIRED_NOT_FOUND, 'X', '')),
    ],
    commands: [`${ANNOTATE} ${nameDesired('X')}`],
    followed: [degraded(DESIRED_NOT_FOUND, 'X'), done('X')],
    disk: DISK_OF_X,
    bootCount: 2,
  },
  {
    name: 'deleted-after-update',
    title: 'Y is deleted after an update from X: only one of the two files on the disk has Y',
    isShort: true,
    steps: [
      { ...RENDER, rows: UPDATED },
      PAUSE,
      step('the source changes back', (lab) => lab.render('X')),
      step('a person deletes Y', (lab) => lab.deleteConfig('Y')),
      writeStatus(degraded(missing('Y'), 'Y')),
    ],
    commands: RESTORE.map((line) => line.replace(' X', ' Y')),
    followed: [done('Y')],
    afterwards: [
      step('a person unpauses the pool', (lab) => lab.unpause(), done('Y', 'X'), working('Y', 'X'), done('X')),
    ],
    disk: DISK_OF_X,
    bootCount: 4,
  },
  // OpenShift 4.16 and 4.17 refuse to render after a deletion (machine-config-operator#4594). Their modules are not
  // public, so a source that the operator refuses has the same result.
  {
    name: 'cannot-render',
    title: 'its desired config is deleted, and the operator cannot render: Done with X when the pool names X',
    steps: [
      PAUSE,
      RENDER,
      step('a person creates a source that cannot be rendered', (lab) => lab.breakRendering()),
      step('a person deletes Y', (lab) => lab.deleteConfig('Y')),
      step('a person unpauses the pool', (lab) => lab.unpause(), done('X', 'Y'), degraded(missing('Y'), 'X', 'Y')),
      // Otherwise the operator sets desiredConfig back as soon as the pool names X.
      PAUSE,
    ],
    commands: [
      `oc patch machineconfigpool POOL --type=merge -p '{"spec":{"configuration":{"name":"X"}}}'`,
      `${ANNOTATE} ${nameDesired('X')}`,
      BY_HAND,
    ],
    byHand: (lab) => lab.mendRendering(),
    followed: [degraded(missing('Y'), 'X'), done('X')],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'reregistered',
    title: 'the node is deleted and registers again: Done with X after the daemon has started again',
    steps: [
      step('a person deletes the node', (lab) => lab.deleteNode()),
      step('the kubelet registers it again', (lab) => lab.machine.register(), REGISTERED),
      startDaemon(
        // A running daemon notices the new node only if that changes again before the daemon ends.
        { ...degraded(missing(''), '', ''), isOptional: true },
        { ...report('', 'X', ''), isOptional: true },
        { ...degraded(missing(''), 'X', ''), isOptional: true },
        degraded(DESIRED_NOT_FOUND, 'X', ''),
      ),
    ],
    followed: [degraded(DESIRED_NOT_FOUND, 'X'), done('X')],
    disk: DISK_OF_X,
    bootCount: 2,
  },
  {
    name: 'drift',
    title: 'a file is changed: Degraded at once, Done without a reboot when it is put back',
    steps: [CHANGE_FILE],
    commands: [BY_HAND],
    byHand: PUT_BACK,
    // A change can cause several events.
    followed: [{ ...degraded(MISMATCH, 'X'), isOptional: true }, done('X')],
    disk: DISK_OF_X,
    bootCount: 2,
  },
  {
    name: 'forced',
    title: 'a file is changed and the force file exists: writes X again with one reboot',
    steps: [CHANGE_FILE, step('a person creates the force file', FORCE, done('X'))],
    disk: { ...DISK_OF_X, [FORCE_FILE]: undefined },
    bootCount: 3,
  },
  {
    name: 'kernel-argument',
    title: 'a kernel argument is removed: Degraded at the next start, whether the force file exists or not',
    steps: [
      step('a person removes a kernel argument', (lab) => lab.machine.run('rpm-ostree', 'kargs', '--delete=mcg-lab=1')),
      startDaemon(degraded(REASONS.kernelArguments('X', 'mcg-lab=1'), 'X')),
      { ...step('a person creates the force file', FORCE), failures: 3 },
    ],
    commands: ['oc debug node/NODE -- chroot /host rpm-ostree kargs --append=mcg-lab=1'],
    followed: [done('X')],
    disk: DISK_OF_X,
    bootCount: 3,
  },
  {
    name: 'wrong-content',
    title: 'X is created with the content of Y: a running daemon installs it, and is Done',
    steps: [
      ...LOSE_X,
      writeStatus(degraded(missing('X'), 'X')),
      step('a person creates X with the content of Y', (lab) => lab.createConfig('X', 'Y')),
    ],
    followed: [done('X')],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'wrong-content-restarted',
    title: 'X is created with the content of Y: a daemon that starts compares it with the disk, and stays Degraded',
    steps: [
      ...LOSE_X,
      startDaemon(degraded(missingAtStart('X'), 'X')),
      {
        ...step(
          'a person creates X with the content of Y',
          (lab) => lab.createConfig('X', 'Y'),
          degraded(unexpected('X'), 'X'),
        ),
        failures: 3,
      },
    ],
    commands: [BY_HAND],
    // All that the content of Y has, because each file that differs is reported only after the one before it.
    byHand: async (lab) => {
      lab.machine.write(FILES.both, 'Y');
      lab.machine.write(FILES.onlyY, 'Y');
    },
    followed: [done('X')],
    disk: { ...DISK_OF_Y, [FILES.onlyX]: 'X' },
    bootCount: 2,
  },
  {
    name: 'compared-with-disk',
    title: 'its disk has a file of Y and the annotations name Y: it still compares the disk with X',
    steps: [
      PAUSE,
      RENDER,
      step(
        'a person writes the file of Y',
        async (lab) => lab.machine.write(FILES.both, 'Y'),
        degraded(MISMATCH, 'X'),
        degraded(unexpected('X'), 'X'),
      ),
      { ...step('a person sets the annotations to Y', NAME_Y, degraded(unexpected('X'), 'Y')), failures: 3 },
    ],
    commands: [BY_HAND],
    byHand: PUT_BACK,
    // The monitor of files can see the file while it is written.
    followed: [{ ...degraded(MISMATCH, 'Y'), isOptional: true }, done('Y')],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'bootstrap',
    title: 'X was never in the API: Degraded after the first boot, Done when X exists',
    isShort: true,
    isXMissing: true,
    booted: [...BOOTED, degraded(BOOTSTRAP_CONFIG_MISSING, 'X')],
    commands: RESTORE,
    followed: [done('X')],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 3,
  },
  {
    name: 'bootstrap-unchanged',
    title: 'X was never in the API, and the first boot changes nothing: Degraded with a reason without a name',
    firstBoot: 'nothing',
    isXMissing: true,
    booted: [...BOOTED, degraded(UNCHANGED_BOOTSTRAP_CONFIG_MISSING, 'X')],
    commands: RESTORE,
    followed: [done('X')],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 2,
  },
  {
    name: 'bootstrap-renamed',
    title: 'X was never in the API, and the annotations are set to Y: Done, but files that only X has stay',
    hasLongWaits: true,
    isXMissing: true,
    booted: [...BOOTED, degraded(BOOTSTRAP_CONFIG_MISSING, 'X')],
    steps: [
      step(
        'a person sets the annotations to Y',
        NAME_Y,
        degraded(BOOTSTRAP_CONFIG_MISSING, 'Y'),
        degraded(unexpected('Y'), 'Y'),
      ),
    ],
    followed: [done('Y')],
    disk: DISK_OF_Y_WITH_REST,
    bootCount: 3,
  },
  {
    name: 'bootstrap-unchanged-renamed',
    title: 'the same after a first boot that changes nothing: Degraded until the annotations name X, which exists',
    firstBoot: 'nothing',
    isXMissing: true,
    booted: [...BOOTED, degraded(UNCHANGED_BOOTSTRAP_CONFIG_MISSING, 'X')],
    steps: [
      {
        ...step(
          'a person sets the annotations to Y',
          NAME_Y,
          degraded(UNCHANGED_BOOTSTRAP_CONFIG_MISSING, 'Y'),
          degraded(unexpected('Y'), 'Y'),
        ),
        failures: 3,
      },
    ],
    commands: [...RESTORE.map((line) => line.replace(' X', '')), `${ANNOTATE} ${nameBoth('X')}`],
    followed: [degraded(unexpected('Y'), 'X'), done('X')],
    afterwards: [UNPAUSE],
    disk: DISK_OF_Y,
    bootCount: 2,
  },
  {
    name: 'bootstrap-unchanged-forced',
    title: 'the same with the force file: Done after one reboot, but files that only X has stay',
    firstBoot: 'nothing',
    isXMissing: true,
    booted: [...BOOTED, degraded(UNCHANGED_BOOTSTRAP_CONFIG_MISSING, 'X')],
    steps: [
      step(
        'a person sets the annotations to Y',
        NAME_Y,
        degraded(UNCHANGED_BOOTSTRAP_CONFIG_MISSING, 'Y'),
        degraded(unexpected('Y'), 'Y'),
      ),
      step('a person creates the force file', FORCE),
    ],
    followed: [done('Y')],
    disk: { ...DISK_OF_Y_WITH_REST, [FORCE_FILE]: undefined },
    bootCount: 2,
  },
];
