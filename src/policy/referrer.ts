import { type ConfigName, configName } from './config-name.ts';

/** The kinds of object that can name a rendered config. */
export type ReferrerKind = 'Node' | 'MachineConfigPool' | 'MachineOSBuild';

/** `hard`: deleting the config would break the referrer. `note`: worth telling a person, never a reason to refuse. */
export type Strength = 'hard' | 'note';

/** One place in one object that names a config. */
export interface Use {
  readonly field: string;
  readonly config: ConfigName;
  readonly strength: Strength;
}

/** What the guard keeps of a Node, MachineConfigPool or MachineOSBuild: its name and the configs that it names. */
export interface Referrer {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly uses: readonly Use[];
  /** A pool that is being deleted. Its fields no longer count (see {@link poolReferrer}). */
  readonly terminating?: true;
  /** A node that carries neither annotation yet: which config it will need cannot be known. */
  readonly unreported?: true;
}

/** The part of an API object that references are read from. Everything is optional because it comes from outside. */
export interface ApiObject {
  readonly metadata?: {
    readonly name?: unknown;
    readonly resourceVersion?: unknown;
    readonly labels?: Readonly<Record<string, unknown>> | null;
    readonly annotations?: Readonly<Record<string, unknown>> | null;
    readonly deletionTimestamp?: unknown;
    readonly creationTimestamp?: unknown;
  } | null;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** An object of the cluster does not have the shape that its schema promises, so nothing can be concluded from it. */
export class UnreadableObject extends Error {
  override readonly name = 'UnreadableObject';
}

const MCO = 'machineconfiguration.openshift.io';
const CURRENT_CONFIG = `${MCO}/currentConfig`;
const DESIRED_CONFIG = `${MCO}/desiredConfig`;
const FIRST_PIVOT_CONFIG = `${MCO}/firstPivotConfig`;
const CONFIG_ANNOTATIONS = [
  [CURRENT_CONFIG, 'currentConfig'],
  [DESIRED_CONFIG, 'desiredConfig'],
] as const;
/** Values have the form `drain-<config>` or `uncordon-<config>` and are only ever compared as strings (machine-config-operator, pkg/daemon/drain.go). */
const DRAIN_ANNOTATIONS = [
  [`${MCO}/desiredDrain`, 'desiredDrain'],
  [`${MCO}/lastAppliedDrain`, 'lastAppliedDrain'],
] as const;
const DRAIN_VERBS = ['drain-', 'uncordon-'] as const;
/** A MachineOSBuild with one of these conditions true reads its config no more. */
const BUILD_ENDED = new Set(['Succeeded', 'Failed', 'Interrupted']);

/** All annotations of a node that {@link nodeReferrer} reads. */
export const NODE_ANNOTATIONS: readonly string[] = [
  CURRENT_CONFIG,
  DESIRED_CONFIG,
  FIRST_PIVOT_CONFIG,
  ...DRAIN_ANNOTATIONS.map(([annotation]) => annotation),
];

/**
 * Which configs does this node name? `currentConfig` and `desiredConfig` are hard: the machine-config-daemon gets both
 * objects at every start and sync and degrades the node where one is missing (machine-config-operator,
 * pkg/daemon/daemon.go). Works on metadata alone.
 *
 * @throws UnreadableObject where the object has no name or an annotation is not a string
 */
export function nodeReferrer(node: ApiObject): Referrer {
  const name = nameOf(node, 'Node');
  const annotations = node.metadata?.annotations ?? {};
  const uses: Use[] = [];
  for (const [annotation, field] of CONFIG_ANNOTATIONS) {
    addUse(uses, field, 'hard', annotationOf(annotations, annotation, name));
  }
  const unreported = uses.length === 0;
  for (const [annotation, field] of DRAIN_ANNOTATIONS) {
    const value = annotationOf(annotations, annotation, name) ?? '';
    const verb = DRAIN_VERBS.find((one) => value.startsWith(one));
    if (verb !== undefined) addUse(uses, field, 'note', value.slice(verb.length));
  }
  addUse(uses, 'firstPivotConfig', 'note', annotationOf(annotations, FIRST_PIVOT_CONFIG, name));
  return unreported ? { kind: 'Node', name, uses, unreported } : { kind: 'Node', name, uses };
}

/**
 * Which configs does this pool name? One that is being deleted counts for nothing: under foreground deletion it waits for
 * its rendered configs to go first, so counting it would block both for ever. Nodes that still run such a config protect
 * it by themselves.
 *
 * @throws UnreadableObject where the object does not have a pool's shape
 */
export function poolReferrer(pool: ApiObject): Referrer {
  const name = nameOf(pool, 'MachineConfigPool');
  if (pool.metadata?.deletionTimestamp !== undefined && pool.metadata.deletionTimestamp !== null) {
    return { kind: 'MachineConfigPool', name, uses: [], terminating: true };
  }
  const uses: Use[] = [];
  for (const field of ['spec', 'status'] as const) {
    const path = `${field}.configuration.name of pool ${name}`;
    const configuration = member(member(pool, field, path), 'configuration', path);
    addUse(uses, field, 'hard', text(member(configuration, 'name', path), path));
  }
  return { kind: 'MachineConfigPool', name, uses };
}

/**
 * Which config does this build name? Hard until the build has ended, a note afterwards. `spec.machineConfig` is the v1
 * field, `spec.desiredConfig` that of v1alpha1 (OpenShift 4.16 and 4.17).
 *
 * @throws UnreadableObject where the object does not have a build's shape
 */
export function buildReferrer(build: ApiObject): Referrer {
  const name = nameOf(build, 'MachineOSBuild');
  const uses: Use[] = [];
  const strength = hasEnded(build, name) ? 'note' : 'hard';
  for (const field of ['machineConfig', 'desiredConfig'] as const) {
    const path = `spec.${field}.name of build ${name}`;
    addUse(uses, field, strength, text(member(member(member(build, 'spec', path), field, path), 'name', path), path));
  }
  return { kind: 'MachineOSBuild', name, uses };
}

function hasEnded(build: ApiObject, name: string): boolean {
  const path = `status.conditions of build ${name}`;
  const conditions = member(member(build, 'status', path), 'conditions', path);
  if (conditions === undefined) return false;
  if (!Array.isArray(conditions)) throw new UnreadableObject(`${path} is not a list`);
  return conditions.some((condition: unknown) => {
    const type = member(condition, 'type', path);
    return typeof type === 'string' && BUILD_ENDED.has(type) && member(condition, 'status', path) === 'True';
  });
}

function addUse(uses: Use[], field: string, strength: Strength, config: string | undefined): void {
  if (config === undefined || config === '') return;
  // A drain note that repeats the node's own current or desired config tells nothing new.
  if (strength === 'note' && uses.some((use) => use.config === config)) return;
  uses.push({ field, config: configName(config), strength });
}

function nameOf(object: ApiObject, kind: ReferrerKind): string {
  const name = object.metadata?.name;
  if (typeof name !== 'string' || name === '') throw new UnreadableObject(`a ${kind} has no name`);
  return name;
}

/** The value of an annotation. Its path is made where it is needed: there are thousands of nodes, and seldom a fault. */
function annotationOf(annotations: Readonly<Record<string, unknown>>, key: string, node: string): string | undefined {
  const value = annotations[key];
  return typeof value === 'string' ? value : text(value, `annotation ${key} of node ${node}`);
}

/** The text, or undefined where there is none. Anything else is refused: a reference that cannot be read is not "none". */
function text(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new UnreadableObject(`${path} is not a string`);
  return value;
}

function member(value: unknown, key: string, path: string): unknown {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value))
    throw new UnreadableObject(`${path} is not where it should be`);
  return Object.hasOwn(value, key) ? ((value as Record<string, unknown>)[key] ?? undefined) : undefined;
}
