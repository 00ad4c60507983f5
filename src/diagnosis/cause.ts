import type { DrainObstacles, StoppedOperator } from './cluster-snapshot.ts';
import type { DiskDifference } from './daemon-reason.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import type { NodeReferrer, PoolReferrer, Referrer } from '../mco/referrer.ts';

/** Whether the operator or the node can end a problem without a person. */
export interface Waiting {
  readonly helps: boolean;
  /** Why, and for how long. A sentence without a period. */
  readonly why: string;
}

/** What the guard knows about a missing config. Null is unknown. Part of the JSON of `check`. */
export interface MissingConfigReport {
  /** Sentences without the last period. */
  readonly explanation: string | null;
  /** RFC 3339. */
  readonly deletedAt: string | null;
  /** The user that deleted the config. */
  readonly deletedBy: string | null;
  /** The reason in the annotation that allowed the deletion. */
  readonly deletionReason: string | null;
}

interface CauseFields {
  /** The object that does not move. Absent if the cause is about the whole cluster. */
  readonly referrer?: Referrer;
  /** Such as `currentConfig` or `spec`, if the cause is about one field. */
  readonly field?: string | undefined;
  readonly config?: ConfigName | undefined;
  readonly waiting: Waiting;
  /** The condition or the reason that decided, as its own line below the sentence. Untrusted text, quoted. */
  readonly evidence?: string | undefined;
}

interface NodeFields extends CauseFields {
  readonly referrer: NodeReferrer;
}

interface PoolFields extends CauseFields {
  readonly referrer: PoolReferrer;
}

export interface ConfigMissing extends CauseFields, Partial<MissingConfigReport> {
  readonly code: 'ConfigMissing';
  readonly referrer: Referrer;
  readonly field: string;
  /** All fields of the referrer that name the config. */
  readonly fields: readonly string[];
  readonly config: ConfigName;
  /** The existing config with the nearest name. */
  readonly suggestion: ConfigName | null;
  /** Whether a node ran the config, so that its content is worth a restore. */
  readonly wasRun: boolean;
  /** A node whose disk has a copy, and whose kubelet answers. Undefined if `restore` would reject the config. */
  readonly copyOn: string | undefined;
  /** Whether the bootstrap host can still have a copy. */
  readonly hasBootstrapHost: boolean;
  /** An existing config that the field can name instead. */
  readonly replacement?: ConfigName | undefined;
  /** The node is lost: its kubelet has not answered since this time. */
  readonly lostSince?: Date | undefined;
  readonly removal?: Removal | undefined;
  /** Whether the daemon has finished no update of this node, so it removes no files of the missing config. */
  readonly isFirstBoot?: boolean;
}

export interface ConfigTerminating extends CauseFields {
  readonly code: 'ConfigTerminating';
  readonly referrer: Referrer;
  readonly field: string;
  readonly config: ConfigName;
}

interface NotReported extends NodeFields {
  readonly code: 'NotReported';
  /** The config for an absent `desiredConfig`. Undefined if the operator sets one. */
  readonly replacement: ConfigName | undefined;
}

/** One pool that a node can be in, and the arguments of `oc label` that leave it there. */
export interface PoolChoice {
  readonly pool: string;
  readonly labels: readonly string[];
}

interface PoolConflict extends NodeFields {
  readonly code: 'PoolConflict';
  readonly conflicting: readonly string[];
  /** Only the pool whose config the node names, if it can be in that one. Empty if no labels end the conflict. */
  readonly choices: readonly PoolChoice[];
}

/** A node at rest runs a config of a deleted pool. */
interface PoolDeleted extends NodeFields {
  readonly code: 'PoolDeleted';
  readonly config: ConfigName;
  readonly deletedPool: string;
  /** The pool still exists, because its deletion waits for something. */
  readonly isTerminating: boolean;
  /** The pool that selects the node, or that selects it afterwards. */
  readonly pool: string;
  /** Arguments of `oc label` that remove the role of the deleted pool. Empty if the node does not have it. */
  readonly labels: readonly string[];
}

interface NotInPool extends NodeFields {
  readonly code: 'NotInPool';
  /** The pool whose config the node names, or else `worker`, if its selector can be met by labels. */
  readonly pool: string | undefined;
  /** The pool of the node's config, which every cluster needs, and which does not exist. */
  readonly missingPool: string | undefined;
  /** Arguments of `oc label` with which that pool selects the node. */
  readonly labels: readonly string[];
}

/** What has to be removed with a lost node. */
export type Removal = 'node' | 'etcdMember';

interface NodeNotReady extends NodeFields {
  readonly code: 'NodeNotReady';
  readonly since: Date | undefined;
  /** Whether its kubelet runs and says why. */
  readonly isReported: boolean;
  /** The config of its pool, to which the operator does not move a node that is not ready. */
  readonly replacement: ConfigName | undefined;
  /** Undefined if the deletion would harm more than it helps, or has begun. */
  readonly removal: Removal | undefined;
  /** Those that its deletion waits for. Undefined if it is not being deleted. */
  readonly finalizers: readonly string[] | undefined;
}

interface CertificatePending extends NodeFields {
  readonly code: 'CertificatePending';
  readonly since: Date | undefined;
}

interface NodeCordoned extends NodeFields {
  readonly code: 'NodeCordoned';
  /** The field manager that cordoned the node, such as `kubectl-cordon`. */
  readonly by: string | undefined;
  /** Whether that is a program of its own, such as one that maintains machines, and no person. */
  readonly isByProgram: boolean;
  readonly since: Date | undefined;
}

/** The operator counts the node as unavailable, although it is ready and not cordoned. */
interface NodeUnavailable extends NodeFields {
  readonly code: 'NodeUnavailable';
  /** Such as `DiskPressure`. */
  readonly condition: string;
  readonly since: Date | undefined;
}

/** The daemon has an update to make, and has reported nothing for an hour. */
interface UpdateStalled extends NodeFields {
  readonly code: 'UpdateStalled';
  readonly config: ConfigName;
  /** As the daemon has reported it, such as `Working`. */
  readonly state: string;
}

interface DrainBlocked extends NodeFields, DrainObstacles {
  readonly code: 'DrainBlocked';
  readonly since: Date | undefined;
  /** The controller cordons a node only when its drain begins. A person has undone that, or nothing drains. */
  readonly isUncordoned: boolean;
}

interface DesiredOutdated extends NodeFields {
  readonly code: 'DesiredOutdated';
  /** What `desiredConfig` names. */
  readonly config: ConfigName;
  readonly replacement: ConfigName | undefined;
  readonly isCordoned: boolean;
}

export interface DiskDiffers extends NodeFields {
  readonly code: 'DiskDiffers';
  readonly comparedWith: string;
  readonly difference: DiskDifference;
  /** How the disk differs, in the words of the daemon. */
  readonly evidence: string;
  /** Whether the node names no other desired config. */
  readonly isAtRest: boolean;
  /** Who set `currentConfig`, and when. The disk has no `currentconfig` that would win over it. */
  readonly annotatedBy: string | undefined;
}

/** What the reason names is over. The daemon empties the reason only when it is Done. */
interface Recovering extends NodeFields {
  readonly code: 'Recovering';
}

/** The daemon has failed for a reason that is none of the others. */
interface NodeDegraded extends NodeFields {
  readonly code: 'NodeDegraded';
  readonly evidence: string;
  /** Whether a repair of what the reason names helps. No repair of a machine lets it accept some changes. */
  readonly isRepairable: boolean;
  /** Whether the daemon has failed to update the node, and the operator takes it back once the source is as before. */
  readonly isTakenBack: boolean;
}

/** An object that the API accepts, and the operator rejects. Without a referrer, it stops no node or pool. */
export interface ObjectRejected extends CauseFields {
  readonly code: 'ObjectRejected';
  readonly kind: string;
  readonly name: string;
  /** Such as `maxUnavailable`, if that alone is the reason. */
  readonly setting?: string | undefined;
  readonly evidence: string;
}

/** A MachineConfig that the pool selects, and that its config does not contain. No other cause says why. */
interface SourceNotRendered extends PoolFields {
  readonly code: 'SourceNotRendered';
  readonly source: string;
}

interface SpecEmpty extends PoolFields {
  readonly code: 'SpecEmpty';
}

interface StatusEmpty extends PoolFields {
  readonly code: 'StatusEmpty';
  /** The config to set as the status. Undefined if `restore` sets it. */
  readonly replacement: ConfigName | undefined;
  readonly needsUnpause: boolean;
}

/** A pool that each release requires is paused, but not by `restore`: none is installed until it is unpaused. */
interface PoolPaused extends PoolFields {
  readonly code: 'PoolPaused';
  /** The field manager that wrote `spec.paused`, such as `kubectl-patch`. */
  readonly by: string | undefined;
  readonly since: Date | undefined;
}

/** Nothing in the pool has changed for an hour, and no other cause explains it. */
interface RolloutStalled extends PoolFields {
  readonly code: 'RolloutStalled';
  readonly config: ConfigName;
  readonly updatedMachineCount: number;
  readonly machineCount: number;
  /** The part of the operator that has to act next. */
  readonly deployment: string;
  /** The build of the OS image that has not ended, or whose image the MachineOSConfig does not name. */
  readonly build: string | undefined;
  /** That MachineOSConfig. */
  readonly unusedBy: string | undefined;
}

interface PoolDegraded extends PoolFields {
  readonly code: 'PoolDegraded';
  /** Such as `RenderDegraded`. Undefined if the causes of its nodes explain it. */
  readonly condition: string | undefined;
}

interface PausedForRestore extends PoolFields {
  readonly code: 'PausedForRestore';
  readonly config: ConfigName;
  /** `restore` can continue: something names the config, and it exists. */
  readonly canContinue: boolean;
  /** The config does not exist yet, so the cause `ConfigMissing` has the command. */
  readonly isMissing: boolean;
}

interface BuildFailed extends PoolFields {
  readonly code: 'BuildFailed';
  readonly build: string;
  readonly osConfig: string;
  /** Whether the annotation for another build has an effect: the MachineOSConfig names this build, and has none. */
  readonly canBeRepeated: boolean;
}

/** No build of the pool's config exists, and the MachineOSConfig names another build, which the operator waits for. */
interface BuildGone extends PoolFields {
  readonly code: 'BuildGone';
  /** Whether the build that the MachineOSConfig names exists. It is one of another config then. */
  readonly exists: boolean;
  readonly build: string;
  readonly osConfig: string;
}

interface TooFewNodes extends CauseFields {
  readonly code: 'TooFewNodes';
  /** A whole sentence without a period. */
  readonly shortage: string;
}

interface PoolsMissing extends CauseFields {
  readonly code: 'PoolsMissing';
}

interface OperatorStopped extends CauseFields, StoppedOperator {
  readonly code: 'OperatorStopped';
}

/** The operator says that it fails, for a reason that no node or pool tells. */
interface OperatorDegraded extends CauseFields {
  readonly code: 'OperatorDegraded';
  /** The part of the operator whose log says why. */
  readonly deployment: string;
  readonly evidence: string;
}

/** Why a node or a pool does not move, or is not protected, with the facts that its text and its repairs need. */
export type Cause =
  | BuildFailed
  | BuildGone
  | CertificatePending
  | ConfigMissing
  | ConfigTerminating
  | DesiredOutdated
  | DiskDiffers
  | DrainBlocked
  | NodeCordoned
  | NodeDegraded
  | NodeNotReady
  | NodeUnavailable
  | NotInPool
  | NotReported
  | ObjectRejected
  | OperatorDegraded
  | OperatorStopped
  | PausedForRestore
  | PoolConflict
  | PoolDegraded
  | PoolDeleted
  | PoolPaused
  | PoolsMissing
  | Recovering
  | RolloutStalled
  | SourceNotRendered
  | SpecEmpty
  | StatusEmpty
  | TooFewNodes
  | UpdateStalled;

export type CauseCode = Cause['code'];

export function canWait(why: string): Waiting {
  return { helps: true, why };
}

export function cannotWait(why: string): Waiting {
  return { helps: false, why };
}
