import type { ApiObject } from '../../src/kube/api-object.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';

// Objects of the Machine Config Operator as its users see them, for every test that needs nodes and pools.
// Ages are in minutes before `now`.

/** These values as annotations of the operator, without those that are undefined. */
export function operatorAnnotations(values: object): Readonly<Record<string, string>> {
  const set = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(set.map(([key, value]) => [`${MCO_GROUP}/${key}`, value]));
}

/** The labels of a node with these roles. */
export function roleLabels(...roles: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, '']));
}

/** Who wrote a field, and when. The API server keeps it in `managedFields`. */
export interface Write {
  readonly manager: string;
  readonly minutesAgo: number;
}

export interface NodeOptions {
  /** By default `worker`. */
  readonly roles?: readonly string[];
  readonly current?: string | undefined;
  readonly desired?: string | undefined;
  /** By default `Done`. */
  readonly state?: string;
  readonly reason?: string | undefined;
  /** Other annotations of the operator. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ageMinutes?: number;
  readonly currentWrite?: Write;
  readonly desiredWrite?: Write;
  /** The drain to the desired config has been requested, and is not done. */
  readonly drainingForMinutes?: number;
  readonly cordon?: Write;
  /** A person has undone the cordon of a drain. */
  readonly isUncordoned?: boolean;
  /** When the daemon or the controller last wrote an annotation. */
  readonly movedMinutesAgo?: number;
  readonly notReady?: { readonly minutesAgo: number; readonly status?: 'False' | 'Unknown'; readonly message?: string };
  /** Besides `Ready`. */
  readonly conditions?: readonly ConditionOptions[];
  /** Those that its deletion waits for. */
  readonly finalizers?: readonly string[];
}

/** A node with the conditions that its kubelet writes. */
export function buildNode(name: string, options: NodeOptions, now: Date): ApiObject {
  const { roles = ['worker'], current, desired, state = 'Done', reason, ageMinutes = 30 } = options;
  const {
    drainingForMinutes,
    currentWrite,
    desiredWrite,
    cordon,
    movedMinutesAgo,
    notReady,
    conditions = [],
    finalizers,
  } = options;
  const isDraining = drainingForMinutes !== undefined;
  const values = {
    currentConfig: current,
    desiredConfig: desired,
    state,
    reason,
    ...(isDraining && { desiredDrain: `drain-${desired}`, lastAppliedDrain: `uncordon-${current}` }),
    ...options.annotations,
  };
  const drainWrite = isDraining ? { manager: 'machine-config-daemon', minutesAgo: drainingForMinutes } : undefined;
  const isMoved = movedMinutesAgo !== undefined;
  const lastWrite = isMoved ? { manager: 'machine-config-daemon', minutesAgo: movedMinutesAgo } : undefined;
  const ready = {
    type: 'Ready',
    status: notReady === undefined ? 'True' : (notReady.status ?? 'Unknown'),
    reason: notReady === undefined ? 'KubeletReady' : 'NodeStatusUnknown',
    message: notReady === undefined ? '' : (notReady.message ?? 'Kubelet stopped posting node status.'),
    lastTransitionTime: toTime(notReady?.minutesAgo ?? ageMinutes, now),
  };
  return {
    metadata: {
      name,
      creationTimestamp: toTime(ageMinutes, now),
      labels: { 'kubernetes.io/os': 'linux', ...roleLabels(...roles), ...options.labels },
      annotations: operatorAnnotations(values),
      ...(finalizers && { finalizers, deletionTimestamp: toTime(1, now) }),
      managedFields: [
        ...managedField(currentWrite, annotationPath('currentConfig'), now),
        ...managedField(desiredWrite, annotationPath('desiredConfig'), now),
        ...managedField(drainWrite, annotationPath('desiredDrain'), now),
        ...managedField(lastWrite, annotationPath('state'), now),
        ...managedField(cordon, { 'f:spec': { 'f:unschedulable': {} } }, now),
      ],
    },
    spec: cordon !== undefined || (isDraining && options.isUncordoned !== true) ? { unschedulable: true } : {},
    status: { conditions: [ready, ...conditions.map((condition) => buildCondition(condition, now))] },
  };
}

/** The operator completes no upgrade before these pools (machine-config-operator, manifests). */
const REQUIRED_POOLS: ReadonlySet<string> = new Set(['master', 'arbiter']);
export const REQUIRED = { 'operator.machineconfiguration.openshift.io/required-for-upgrade': '' };

export interface PoolOptions {
  readonly spec?: string | undefined;
  readonly status?: string | undefined;
  /** Machines: all, updated, ready, degraded. By default one that is updated, if the status names a config. */
  readonly counts?: readonly [number, number, number, number];
  readonly ageMinutes?: number;
  readonly paused?: boolean;
  readonly pausedFor?: string;
  readonly terminating?: boolean;
  readonly sources?: readonly string[];
  /** By default the role label with the name of the pool. */
  readonly nodeSelector?: object;
  readonly machineConfigSelector?: object;
  readonly maxUnavailable?: number | string;
  /** By default those of the operator. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly conditions?: readonly ConditionOptions[];
  /** Machines that the operator counted as unavailable. */
  readonly unavailableCount?: number;
  /** The last write of another setting of the spec, such as `paused`. */
  readonly settingWrite?: Write;
  /** When the operator last changed the configuration in the spec and in the status. */
  readonly specWrittenMinutesAgo?: number;
  readonly statusWrittenMinutesAgo?: number;
}

export interface ConditionOptions {
  readonly type: string;
  /** By default `True`. */
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly minutesAgo?: number;
}

/** A MachineConfigPool as the operator reports it. */
export function buildPool(name: string, options: PoolOptions, now: Date): ApiObject {
  const { spec, status, ageMinutes = 120, paused = false, pausedFor, terminating = false, sources = [] } = options;
  const isUpdated = status === undefined ? 0 : 1;
  const [machineCount, updatedMachineCount, readyMachineCount, degradedMachineCount] = options.counts ?? [
    1,
    isUpdated,
    isUpdated,
    0,
  ];
  const toConfiguration = (config: string | undefined) => (config === undefined ? {} : { name: config });
  const deletion = { deletionTimestamp: toTime(1, now), finalizers: ['foregroundDeletion'] };
  const operator = (minutesAgo: number | undefined) =>
    minutesAgo === undefined ? undefined : { manager: 'machine-config-controller', minutesAgo };
  return {
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      creationTimestamp: toTime(ageMinutes, now),
      labels: options.labels ?? (REQUIRED_POOLS.has(name) ? REQUIRED : {}),
      ...(pausedFor !== undefined && { annotations: { 'machineconfig-guard.io/paused-for-restore': pausedFor } }),
      ...(terminating && deletion),
      managedFields: [
        ...managedField(operator(options.specWrittenMinutesAgo), { 'f:spec': { 'f:configuration': {} } }, now),
        ...managedField(options.settingWrite, { 'f:spec': { 'f:paused': {}, 'f:maxUnavailable': {} } }, now),
        ...managedField(
          operator(options.statusWrittenMinutesAgo),
          { 'f:status': { 'f:configuration': {} } },
          now,
          'status',
        ),
      ],
    },
    spec: {
      configuration: { ...toConfiguration(spec), source: sources.map((source) => ({ name: source })) },
      nodeSelector: options.nodeSelector ?? { matchLabels: roleLabels(name) },
      machineConfigSelector: options.machineConfigSelector,
      maxUnavailable: options.maxUnavailable,
      paused,
    },
    status: {
      configuration: toConfiguration(status),
      machineCount,
      updatedMachineCount,
      readyMachineCount,
      degradedMachineCount,
      unavailableMachineCount: options.unavailableCount ?? 0,
      conditions: (options.conditions ?? []).map((condition) => buildCondition(condition, now)),
    },
  };
}

export interface BuildOptions {
  readonly config: string;
  readonly osConfig: string;
  readonly conditions?: readonly ConditionOptions[];
  readonly ageMinutes?: number;
  /** The image that it has pushed. */
  readonly image?: string;
}

/** A MachineOSBuild. */
export function buildBuild(
  name: string,
  { config, osConfig, conditions = [], ageMinutes = 30, image }: BuildOptions,
  now: Date,
): ApiObject {
  return {
    metadata: { name, creationTimestamp: toTime(ageMinutes, now) },
    spec: { machineConfig: { name: config }, machineOSConfig: { name: osConfig } },
    status: {
      conditions: conditions.map((condition) => buildCondition(condition, now)),
      digestedImagePushSpec: image,
    },
  };
}

export interface OsConfigOptions {
  readonly pool: string;
  readonly currentBuild?: string;
  /** The image that the nodes of the pool get. */
  readonly image?: string;
  /** When a person asked for another build. */
  readonly rebuiltMinutesAgo?: number;
}

/** A MachineOSConfig that puts a pool into image mode. */
export function buildOsConfig(
  name: string,
  { pool, currentBuild, image, rebuiltMinutesAgo: minutesAgo }: OsConfigOptions,
  now: Date,
): ApiObject {
  const write = minutesAgo === undefined ? undefined : { manager: 'kubectl-annotate', minutesAgo };
  const values = { 'current-machine-os-build': currentBuild, rebuild: write && '' };
  return {
    metadata: {
      name,
      annotations: operatorAnnotations(values),
      managedFields: managedField(write, annotationPath('rebuild'), now),
    },
    spec: { machineConfigPool: { name: pool } },
    status: { currentImagePullSpec: image },
  };
}

function buildCondition(
  { type, status = 'True', message = '', reason = '', minutesAgo = 5 }: ConditionOptions,
  now: Date,
) {
  return { type, status, message, reason, lastTransitionTime: toTime(minutesAgo, now) };
}

function annotationPath(key: string): object {
  return { 'f:metadata': { 'f:annotations': { [`f:${MCO_GROUP}/${key}`]: {} } } };
}

function managedField(write: Write | undefined, fieldsV1: object, now: Date, subresource?: string): object[] {
  if (write === undefined) return [];
  const { manager, minutesAgo } = write;
  const time = toTime(minutesAgo, now);
  return [{ manager, operation: 'Update', time, fieldsV1, ...(subresource !== undefined && { subresource }) }];
}

function toTime(minutesAgo: number, now: Date): string {
  return new Date(now.getTime() - minutesAgo * 60_000).toISOString();
}
